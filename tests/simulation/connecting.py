"""A client's connections: CONNECT, keep-alive, coming back, and what CONNACK has to say.

Whether the broker has to know a session follows from what the client was told before, from its
expiry, and from when the broker's end of the last connection was over. The same goes for wills:
from what was sent and what was seen it follows whether one must, may, or must not be published.
"""

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gateway.wire.encoder import encode
from gateway.wire.packets import Connack, Connect, Disconnect, Properties, Will
from tests.simulation.ledger import MUST, NEVER, Message
from tests.simulation.network import Link
from tests.simulation.plan import NEVER as NEVER_EXPIRES
from tests.simulation.violation import require

if TYPE_CHECKING:
    from tests.simulation.client import Client
    from tests.simulation.world import World

CLOCK_SLACK_SECONDS = 3.0
"""Nothing is required of what happens so near to the end of an interval."""

WRITTEN_SECONDS = 20.0
"""The end of a connection is on disk by then, whatever the disk does meanwhile: it is written
within a second, and disks stall and are full for some."""

CONNECT_PATIENCE_SECONDS = 15.0
"""How long a client waits for CONNACK."""

CLOSE_PATIENCE_SECONDS = 10.0
"""How long a client waits for the broker to close behind DISCONNECT."""


@dataclass
class Attempt:
    """A connection and what was said on it."""

    link: Link
    clean: bool
    will: Message | None
    persistent: bool
    session_before: str
    """What was known of the session before this CONNECT."""
    goodbye_bytes: int = 0
    """How many bytes had been sent when DISCONNECT was; 0: it was not."""
    goodbye_at: float | None = None
    """When DISCONNECT was sent. The broker counts from its arrival, and closes after a commit."""
    greeted: bool = False
    """CONNACK has come."""

    def ended_at(self) -> float | None:
        """Return when the broker may have begun to count, at the earliest; None: not yet."""
        ends = [end for end in (self.goodbye_at, self.link.broker_gone_at) if end is not None]
        return min(ends, default=None)

    def goodbye_was_heard(self) -> bool:
        """Return whether DISCONNECT reached the broker."""
        return 0 < self.goodbye_bytes <= self.link.delivered_bytes


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
            and (self.session == "doubtful" or self._may_have_expired())
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
        expected = self._expected_present(attempt)
        require(
            expected is None or expected == present,
            "sessions are kept as long as they should be",
            f"{self.plan.name} received {packet!r}; before, its session was "
            f"{attempt.session_before}",
        )
        attempt.greeted = True
        if not present:
            self.client.forget_session()
        self._settle_wills(attempt, present)
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

    def _expected_present(self, attempt: Attempt) -> bool | None:
        """Return whether the session must (True) or must not (False) be there; None: it may."""
        if attempt.clean or attempt.session_before == "none":
            return False
        if attempt.session_before == "doubtful":
            return None
        if not self._may_have_expired():
            return True
        return False if self._has_surely_expired(attempt) else None

    def _has_surely_expired(self, attempt: Attempt) -> bool:
        ends = [before.link.broker_gone_at for before in self.attempts[:-1]]
        if None in ends:
            return False
        last = max(end for end in ends if end is not None)
        if not (self.world.timeline.clock.always_right and self._was_written(last)):
            # How long the gateway was off is not known, or it took up the session at the start.
            last = max(last, self.world.last_boot)
        away = attempt.link.opened_at - last
        return away > self.plan.expiry_seconds + CLOCK_SLACK_SECONDS

    def _was_written(self, when: float) -> bool:
        """Return whether the end of a connection was surely on disk when the process ended."""
        after = [end for end in self.world.machine.life_ends if end >= when]
        return not after or after[0] - when > WRITTEN_SECONDS

    def _may_have_expired(self) -> bool:
        if self.plan.version < 5 or self.plan.expiry_seconds == NEVER_EXPIRES:
            return False
        gone_at = None
        for attempt in self.attempts:
            if attempt.link is self.kept_since:
                gone_at = attempt.ended_at()
        slack = CLOCK_SLACK_SECONDS + self.world.timeline.clock.lied_seconds
        return gone_at is not None and self.world.now - gone_at > self.plan.expiry_seconds - slack

    def _settle_wills(self, attempt: Attempt, present: bool) -> None:
        """The client is back: what must have become of the wills of its earlier connections?"""
        delay = self.plan.will.delay_seconds if self.plan.will is not None else 0
        slack = CLOCK_SLACK_SECONDS + self.world.timeline.clock.lied_seconds
        for before in self.attempts[:-1]:
            will = before.will
            if will is None or not before.greeted or before.goodbye_bytes:
                continue
            gone_at = before.link.broker_gone_at
            if not delay or self.plan.version < 5 or not self.plan.persistent:
                will.will_goes_out = MUST
            elif (
                before is self.attempts[-2]
                and present
                and (gone_at is None or self.world.now - gone_at < delay - slack)
                and will.will_goes_out != MUST
            ):
                will.will_goes_out = NEVER

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
            self.world.tell(self.plan.name, f"hears nothing on {attempt.link.name}")
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

    def leave(self, seconds: float, *, says_so: bool, ends_session: bool) -> None:
        """Go away for a while."""
        self.away_until = self.world.now + seconds
        self.world.at(self.away_until, self._retry_now)
        attempt = self.attempt
        if attempt is None:
            return
        if not says_so or not attempt.greeted:
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
