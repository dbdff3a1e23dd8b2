"""State of each session at one point in the log: its held, queued and in-flight messages.

The audit keeps only these open messages in memory. The gateway stored all of them on disk. `epoch`
is the number of breaks before an event. A break is a place where events are missing. The missing
events might have changed the state, so an event before the latest break does not prove the current
state.
"""

from collections import deque
from dataclasses import dataclass, field
from typing import Final

PAGE_NUMBERS: Final = 1 << 16
"""Number of message numbers per page of marks. A page takes 8 KiB."""


@dataclass(slots=True)
class Held:
    """A QoS 2 message that was received but not yet released by a PUBREL."""

    message: int
    topic: str
    sequence: int
    epoch: int


@dataclass(slots=True)
class Waiting:
    """A message that is waiting at `position` in a session's queue."""

    position: int
    message: int
    qos: int
    sequence: int
    epoch: int


@dataclass(slots=True)
class InFlight:
    """A delivery that has started and is not completed."""

    position: int
    message: int
    qos: int
    sequence: int
    epoch: int
    is_received: bool = False
    is_dropped: bool = False


@dataclass(slots=True)
class SessionState:
    """The state of one session, according to the events in the log."""

    number: int
    client_id: str
    persistent: bool | None
    may_be_5: bool
    """True if the client used MQTT 5.0 or may have used it. Behaviour that only MQTT 5.0 allows is
    then not a violation."""
    epoch: int
    next_position: int | None = 0
    """The next queue position, or None if it is unknown because the session is older than the
    log."""
    entered_from: int | None = 0
    """Queue position from which all entries were recorded. Earlier entries may have been queued in
    a gap of the log. None if the position is not known yet."""
    subscriptions: dict[str, int] = field(default_factory=dict)
    held: dict[int, Held] = field(default_factory=dict)
    queue: deque[Waiting] = field(default_factory=deque)
    outbound: dict[int, InFlight] = field(default_factory=dict)

    def lose_track(self) -> None:
        """Forget the expected queue position. A gap in the log might hide new queue entries."""
        self.next_position = None
        self.entered_from = None

    def unfinished(self) -> list[Waiting | InFlight]:
        """Return the messages that other sessions can take over when this session ends.

        These are all queued messages, and the QoS 1 messages in flight.
        """
        return [*self.queue, *(one for one in self.outbound.values() if one.qos == 1)]


class Marks:
    """A compact set of nearly consecutive numbers, stored in pages with one bit per number."""

    def __init__(self) -> None:
        self._pages: dict[int, bytearray] = {}

    def add(self, number: int) -> bool:
        """Add a number. Return False if the number was already in the set."""
        page, rest = divmod(number, PAGE_NUMBERS)
        bits = self._pages.get(page)
        if bits is None:
            bits = self._pages[page] = bytearray(PAGE_NUMBERS // 8)
        index, mask = rest >> 3, 1 << (rest & 7)
        if bits[index] & mask:
            return False
        bits[index] |= mask
        return True

    def __contains__(self, number: int) -> bool:
        page, rest = divmod(number, PAGE_NUMBERS)
        bits = self._pages.get(page)
        return bits is not None and bool(bits[rest >> 3] & 1 << (rest & 7))
