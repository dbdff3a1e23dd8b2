"""Checks that no expiry interval ends before its real time has passed.

At each commit these events are checked: messages dropped as expired, retained messages cleared, and
sessions ended by expiry. In each PUBLISH the remaining interval is checked.
"""

from typing import TYPE_CHECKING

from gateway.broker.core.gateway_time import ClockQuality
from gateway.broker.core.records.blob import Blob
from gateway.broker.core.records.events import Event, decode
from gateway.broker.core.sessions.session import EXPIRY_NEVER
from gateway.broker.wire.packets import Publish
from tests.instruments.simulation.ledger import Message
from tests.instruments.simulation.violation import require

if TYPE_CHECKING:
    from tests.instruments.simulation.attempt import Attempt
    from tests.instruments.simulation.network import Link
    from tests.instruments.simulation.world import World

NOTHING_EARLY = "nothing leaves before its interval has passed"
NO_SESSION_EARLY = "no session ends before its interval has passed"
LEFT = "what is left of an interval is what is left"
NEVER_BACK = "time that is written down does not go back over a restart"

ROUNDING_SECONDS = 0.004
"""Clocks have a resolution of ms, at both ends of an interval and of a time without power."""

CATCH_UP_MS = 3_600_000
"""A trusted clock that is further behind than this shows that recorded times were wrong."""


class Durations:
    """Follows the commits, and checks their intervals."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.retained: dict[str, int] = {}
        self.unmatched_at: dict[bytes, float] = {}
        """The last time at which a message was released without matching a client."""
        self._expiry: dict[int, int] = {}
        self._connection: dict[int, tuple[str, float]] = {}
        """The address of a session's last connection, and when its beginning was committed."""
        self._newest: Blob | None = None
        self._outages = 0

    @property
    def _slack_seconds(self) -> float:
        return ROUNDING_SECONDS + self.world.timeline.clock.lied_seconds

    def has_passed(self, message: Message, now: float | None = None) -> bool:
        """Return True if a message's interval may be over, counted from its first sending."""
        if message.expiry_seconds is None or message.first_sent is None:
            return False
        elapsed = (self.world.now if now is None else now) - message.first_sent_at
        return elapsed >= message.expiry_seconds - self._slack_seconds

    def matched_no_client(self, message: Message) -> bool:
        """Return True if a message matched no client when its interval was over."""
        when = self.unmatched_at.get(message.key)
        return when is not None and self.has_passed(message, when)

    def committed(self, data: bytes) -> None:
        """Check a committed batch, which the witness has already read."""
        blob = Blob(data)
        self._check_times(blob)
        self._count_outages()
        for event in decode(data).events:
            self._take(str(event["event"]), event)

    def _count_outages(self) -> None:
        life = self.world.machine.life
        known = 0 if life is None else len(life.broker.state.time.outages)
        if known > self._outages:
            self.world.count("times switched off that became known later")
        self._outages = known

    def _take(self, name: str, event: Event) -> None:
        keys, number = self.world.witness.keys, event.get("message")
        if name == "message_dropped" and event["reason"] == "expired":
            assert isinstance(number, int)
            self._require_passed(keys[number], "was dropped as expired")
        elif name == "message_released" and not event["matched"]:
            assert isinstance(number, int)
            self.unmatched_at[keys[number]] = self.world.now
        elif name == "retained_set":
            assert isinstance(number, int)
            self.retained[str(event["topic"])] = number
        elif name == "retained_cleared":
            gone = self.retained.pop(str(event["topic"]))
            self._require_passed(keys[gone], "is not retained any more")
            self.world.count("retained messages that expired")
        elif "session_expiry_seconds" in event or name == "session_ended":
            self._take_session(name, event)

    def _take_session(self, name: str, event: Event) -> None:
        session = event["session"]
        assert isinstance(session, int)
        if name == "session_ended":
            if event["reason"] == "expired":
                self._check_end(session, str(event["client_id"]))
            return
        expiry = event["session_expiry_seconds"]
        assert isinstance(expiry, int)
        self._expiry[session] = expiry
        if name != "session_expiry_changed":
            self._connection[session] = (str(event["address"]), self.world.now)

    def _require_passed(self, key: bytes, what: str) -> None:
        message = self.world.ledger.messages[key]
        require(
            self.has_passed(message),
            NOTHING_EARLY,
            f"{key!r}, expiry {message.expiry_seconds} s, {what} "
            f"{self.world.now - message.first_sent_at:.3f} s after it was sent",
        )

    def _check_end(self, session: int, client_id: str) -> None:
        expiry = self._expiry[session]
        address, resumed_at = self._connection[session]
        attempts = self.world.clients[client_id].connecting.attempts
        # The client may have opened newer connections, which that commit did not include.
        (attempt,) = [each for each in attempts if address_of(each.link) == address]
        end = self._end_of(attempt)
        # The connection may have ended before its beginning was committed.
        away = self.world.now - (resumed_at if end is None else end)
        require(
            expiry != EXPIRY_NEVER and away >= expiry - self._slack_seconds,
            NO_SESSION_EARLY,
            f"the session of {client_id}, expiry {expiry} s, ended after {away:.3f} s",
        )

    def _end_of(self, attempt: "Attempt") -> float | None:
        """Return when a connection ended: a stopping broker ends it before clients notice."""
        end = attempt.ended_at()
        if end is None:
            return None
        stops = self.world.machine.stops
        return min([end, *(stop for stop in stops if attempt.link.opened_at <= stop <= end)])

    def check_left(self, client_id: str, message: Message, packet: Publish) -> None:
        """Check the remaining interval that a 5.0 client receives [MQTT5-3.3.2-6]."""
        properties = packet.properties
        left = None if properties is None else properties.message_expiry_interval_seconds
        expiry = message.expiry_seconds
        elapsed = self.world.now - message.first_sent_at
        require(
            left is None
            if expiry is None
            else left is not None and expiry - elapsed - self._slack_seconds <= left <= expiry,
            LEFT,
            f"{client_id} received {message.key!r}, expiry {expiry} s, after {elapsed:.3f} s with "
            f"{left} s left",
        )

    def _check_times(self, blob: Blob) -> None:
        newest, self._newest = self._newest, blob
        if newest is None:
            return
        require(
            blob.gateway_ms >= newest.gateway_ms,
            "gateway time does not go back",
            f"batch {blob.number} at {blob.gateway_ms} follows one at {newest.gateway_ms}",
        )
        if blob.boot == newest.boot:
            return
        behind_ms = newest.time_ms - blob.time_ms
        corrects = blob.clock == ClockQuality.SYNCHRONISED and (
            newest.clock != ClockQuality.SYNCHRONISED or behind_ms > CATCH_UP_MS
        )
        require(
            behind_ms <= 0 or corrects,
            NEVER_BACK,
            f"batch {blob.number} at {blob.time_ms} follows one at {newest.time_ms}",
        )


def address_of(link: "Link") -> str:
    """Return the address that the broker records for its end of a connection."""
    return f"{link.name}:1"
