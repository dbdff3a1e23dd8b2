"""A client's connections: CONNECT, keep-alive, coming back, and what CONNACK has to say."""

import random
from typing import TYPE_CHECKING

from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Connack, Connect, Disconnect, Properties, Will
from tests.instruments.simulation.attempt import Attempt
from tests.instruments.simulation.expected import Expected
from tests.instruments.simulation.ledger import NEVER, Message
from tests.instruments.simulation.network import Link
from tests.instruments.simulation.violation import require

if TYPE_CHECKING:
    from tests.instruments.simulation.client import Client
    from tests.instruments.simulation.world import World

CONNECT_PATIENCE_SECONDS = 15.0
"""How long a client waits for CONNACK."""

CLOSE_PATIENCE_SECONDS = 10.0
"""How long a client waits for the broker to close behind DISCONNECT."""


class Connecting:
    """The connections of one client, one after the other, or one beside the other."""

    def __init__(self, client: "Client", world: "World") -> None:
        self.client = client
        self.plan = client.plan
        self.world = world
        self.chance = random.Random(f"{world.seed}/{client.name}")  # noqa: S311 - repeatable
        self.attempt: Attempt | None = None
        self.attempts: list[Attempt] = []
        self.connected = False
        self.session = "none"
        """What is known of the session at the broker: none, doubtful, kept."""
        self.kept_since: Link | None = None
        """The last connection on which the broker confirmed the session."""
        self.wills = 0
        self.away_until = 0.0
        self.expected = Expected(self)
        self._heard_at = 0.0
        self._clean_wanted = False

    @property
    def link(self) -> Link | None:
        """Return the connection that counts."""
        return self.attempt.link if self.attempt is not None else None

    def is_persistent(self) -> bool:
        """Return whether the session outlives the connection that counts."""
        return self.attempt is not None and self.attempt.persistent

    def goodbye_was_heard(self) -> bool:
        """Return whether the last connection ended with a DISCONNECT that arrived."""
        return self.attempts[-1].goodbye_was_heard()

    # -- making a connection

    def open(self, *, clean_start: bool = False) -> None:
        """Connect, beside a connection that may still be there."""
        self._clean_wanted = self._clean_wanted or clean_start
        if self.world.now < self.away_until:
            return
        if self.attempt is not None:
            self._give_up(self.attempt)
        link = self.world.connect(self.client)
        if link is None:
            self._retry(0.2 + self.chance.random())
            return
        clean = self.plan.clean or self._clean_wanted or self._is_at_a_loss()
        will = self._make_will()
        persistent = self.plan.persistent and not (clean and self.plan.version < 5)
        self.attempt = Attempt(link, clean, will, persistent, self.session)
        self.attempts.append(self.attempt)
        self.connected = False
        self.client.begin_connection()
        if clean:
            self.client.subscriptions.session_in_doubt(self.world.moment)
        if clean or self.session != "kept":
            self.session = "doubtful" if persistent or self.session != "none" else "none"
        self._heard_at = self.world.now
        self._send_connect(self.attempt)
        self.world.at(self.world.now + CONNECT_PATIENCE_SECONDS, self._lose_patience, self.attempt)

    def _is_at_a_loss(self) -> bool:
        """Return whether CONNACK could speak of a session that the client does not know.

        Its own may be gone, and a CONNECT that was not answered may have made another.
        """
        return (
            self.kept_since is not None
            and not self.attempts[-1].greeted
            and (self.session == "doubtful" or self.expected.may_have_expired())
        )

    def _send_connect(self, attempt: Attempt) -> None:
        plan, will = self.plan, None
        if attempt.will is not None and plan.will is not None:
            made = Properties()
            made.will_delay_interval_seconds = plan.will.delay_seconds
            made.message_expiry_interval_seconds = plan.will.expiry_seconds
            properties = made if plan.version == 5 else None
            message = attempt.will
            will = Will(message.topic, message.payload, message.qos, message.retain, properties)
        wanted = None
        if plan.version == 5:
            wanted = Properties()
            wanted.session_expiry_interval_seconds = plan.expiry_seconds
            wanted.receive_maximum = plan.receive_maximum or None
            wanted.topic_alias_maximum = plan.topic_alias_maximum or None
        packet = Connect(
            plan.version,
            plan.name,
            attempt.clean,
            plan.keep_alive_seconds,
            will,
            None,
            None,
            wanted,
        )
        self.world.tell(plan.name, f"{attempt.link.name} -> ", packet)
        attempt.link.send(encode(packet, plan.version))

    def _make_will(self) -> Message | None:
        plan = self.plan.will
        if plan is None:
            return None
        self.wills += 1
        message = Message(
            self.plan.name,
            self.wills,
            plan.topic,
            plan.qos,
            plan.retain,
            expiry_seconds=plan.expiry_seconds if self.plan.version == 5 else None,
            is_will=True,
        )
        message.first_sent = self.world.moment
        message.first_sent_at = self.world.now
        message.sent_count = 1
        return self.world.ledger.add(message)

    def _lose_patience(self, attempt: Attempt) -> None:
        if attempt is self.attempt and not attempt.greeted:
            self.reset()

    def _retry(self, seconds: float) -> None:
        self.world.at(self.world.now + seconds, self._retry_now)

    def _retry_now(self) -> None:
        if self.attempt is None:
            self.open()

    # -- CONNACK

    def receive_connack(self, packet: Connack) -> None:
        """The broker answers."""
        attempt = self.attempt
        assert attempt is not None
        require(
            packet.reason_code == 0 and not attempt.greeted,
            "clients are let in",
            f"{self.plan.name} received {packet!r}",
        )
        present = packet.session_present
        expected = self.expected.present(attempt)
        require(
            expected is None or expected == present,
            "sessions are kept as long as they should be",
            f"{self.plan.name} received {packet!r}; before, its session was "
            f"{attempt.session_before}",
        )
        attempt.greeted = True
        if not present:
            self.client.forget_session()
        self.expected.settle_wills(attempt, present)
        self.session = "kept" if attempt.persistent else "none"
        self.kept_since = attempt.link
        self._clean_wanted = False
        self.connected = True
        granted = packet.properties if packet.properties is not None else Properties()
        self.client.server_receive_maximum = granted.receive_maximum or 65_535
        self.client.aliases.grant(granted.topic_alias_maximum or 0)
        if self.plan.keep_alive_seconds:
            self.world.at(self.world.now + 1.0, self._look_alive, attempt)
        self.client.resume()

    # -- while it lasts

    def receive(self, link: Link, data: bytes) -> None:
        """Bytes came; those of a connection that was given up count no more."""
        if link is self.link:
            self._heard_at = self.world.now
            self.client.receive(data)

    def lose(self, link: Link, *, orderly: bool) -> None:
        """A connection is over."""
        for attempt in self.attempts:
            if attempt.link is link and attempt.will and orderly and attempt.goodbye_was_heard():
                attempt.will.will_goes_out = NEVER
        if link is self.link:
            self.world.tell(self.plan.name, f"{link.name} is over")
            self._left()

    def _left(self) -> None:
        self._forget_attempt()
        self._retry(0.05 + self.chance.random())

    def _forget_attempt(self) -> None:
        if self.attempt is not None and not self.attempt.persistent:
            self.client.subscriptions.session_in_doubt(self.world.moment)
        self.attempt = None
        self.connected = False

    def _give_up(self, attempt: Attempt) -> None:
        """Another connection takes its place. A doubtful CONNECT must not arrive after that: it
        would make or end a session that the client believes in."""
        if not attempt.greeted:
            attempt.link.reset()
        self._forget_attempt()

    def _look_alive(self, attempt: Attempt) -> None:
        """Ping in time, and give up a connection on which nothing comes back."""
        if attempt is not self.attempt:
            return
        silence = self.world.now - self._heard_at
        if silence > self.plan.keep_alive_seconds * 1.5:
            self.world.tell(self.plan.name, f"receives nothing on {attempt.link.name}")
            self.reset()
            return
        if attempt.link.to_client.reading:
            self.client.ping()
        else:
            self._heard_at = self.world.now  # it does not listen
        self.world.at(self.world.now + self.plan.keep_alive_seconds / 3, self._look_alive, attempt)

    # -- ends

    def reset(self) -> None:
        """Drop the connection without a word."""
        if self.attempt is not None:
            self.attempt.link.reset()
            self._left()

    def leave(self, seconds: float, *, sends_disconnect: bool, ends_session: bool) -> None:
        """Go away for a while."""
        self.away_until = self.world.now + seconds
        self.world.at(self.away_until, self._retry_now)
        attempt = self.attempt
        if attempt is None:
            return
        if not sends_disconnect or not attempt.greeted:
            self.reset()
            return
        properties = None
        if ends_session and self.plan.version == 5 and self.plan.persistent:
            properties = Properties()
            properties.session_expiry_interval_seconds = 0
            self.client.subscriptions.session_in_doubt(self.world.moment)
            self.session = "doubtful"
        packet = Disconnect(0, properties)
        self.world.tell(self.plan.name, "-> ", packet)
        attempt.link.send(encode(packet, self.plan.version))
        attempt.goodbye_bytes = attempt.link.sent_bytes
        attempt.goodbye_at = self.world.now
        self.world.at(self.world.now + CLOSE_PATIENCE_SECONDS, attempt.link.close)
        self._forget_attempt()
