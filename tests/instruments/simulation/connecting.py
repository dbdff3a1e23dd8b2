"""The connections of a client: CONNECT, keep-alive, reconnecting, and the checks of CONNACK."""

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
"""Seconds for which a client waits for CONNACK."""

CLOSE_PATIENCE_SECONDS = 10.0
"""Seconds for which a client waits for the broker to close after DISCONNECT."""


class Connecting:
    """The connections of one client, of which two can overlap."""

    def __init__(self, client: "Client", world: "World") -> None:
        self.client = client
        self.plan = client.plan
        self.world = world
        self.chance = random.Random(f"{world.seed}/{client.name}")  # noqa: S311 - repeatable
        self.attempt: Attempt | None = None
        self.attempts: list[Attempt] = []
        self.connected = False
        self.session = "none"
        """The client's knowledge about its session at the broker: none, doubtful or kept."""
        self.kept_since: Link | None = None
        """The last connection on which the broker confirmed the session."""
        self.wills = 0
        self.away_until = 0.0
        self.expected = Expected(self)
        self._heard_at = 0.0
        self._clean_wanted = False

    @property
    def link(self) -> Link | None:
        """Return the current connection."""
        return self.attempt.link if self.attempt is not None else None

    def is_persistent(self) -> bool:
        """Return True if the session outlives the current connection."""
        return self.attempt is not None and self.attempt.persistent

    def goodbye_was_heard(self) -> bool:
        """Return True if the last connection ended with a DISCONNECT that arrived."""
        return self.attempts[-1].goodbye_was_heard()

    # -- opening a connection

    def open(self, *, clean_start: bool = False) -> None:
        """Connect. An older connection may still exist."""
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
        """Return True if CONNACK could refer to a session that the client does not know.

        The client's own session may have ended, and an unanswered CONNECT may have created another.
        """
        return (
            self.kept_since is not None
            and not self.attempts[-1].connack_released
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
        if attempt is self.attempt and not attempt.connack_released:
            self.reset()

    def _retry(self, seconds: float) -> None:
        self.world.at(self.world.now + seconds, self._retry_now)

    def _retry_now(self) -> None:
        if self.attempt is None:
            self.open()

    # -- CONNACK

    def receive_connack(self, packet: Connack) -> None:
        """Check and handle CONNACK."""
        attempt = self.attempt
        assert attempt is not None
        require(
            packet.reason_code == 0 and not attempt.connack_released,
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
        attempt.connack_released = True
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

    # -- during a connection

    def receive(self, link: Link, data: bytes) -> None:
        """Handle bytes from the broker, unless their connection was given up."""
        if link is self.link:
            self._heard_at = self.world.now
            self.client.receive(data)

    def lose(self, link: Link, *, orderly: bool) -> None:
        """Note that a connection has ended."""
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
        """Give up a connection, because another one replaces it.

        A doubtful CONNECT must not arrive later: it would create or end a session without the
        client's knowledge.
        """
        if not attempt.connack_released:
            attempt.link.reset()
        self._forget_attempt()

    def _look_alive(self, attempt: Attempt) -> None:
        """Ping in time, and give up a connection on which nothing arrives."""
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
            self._heard_at = self.world.now  # the client is not reading
        self.world.at(self.world.now + self.plan.keep_alive_seconds / 3, self._look_alive, attempt)

    # -- end of a connection

    def reset(self) -> None:
        """Reset the connection without a DISCONNECT."""
        if self.attempt is not None:
            self.attempt.link.reset()
            self._left()

    def leave(self, seconds: float, *, sends_disconnect: bool, ends_session: bool) -> None:
        """Disconnect for a while."""
        self.away_until = self.world.now + seconds
        self.world.at(self.away_until, self._retry_now)
        attempt = self.attempt
        if attempt is None:
            return
        if not sends_disconnect or not attempt.connack_released:
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
