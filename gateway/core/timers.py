"""Timers as values: what is due when. The shell owns the clock."""

from heapq import heappop, heappush
from typing import Final

from gateway.core.session import Connection, Session

CONNECT_TIMEOUT: Final = 0
KEEP_ALIVE: Final = 1
RETRY: Final = 2
AWAIT_REL: Final = 3
SESSION_EXPIRY: Final = 4
RETAINED: Final = 5
SLOW_READER: Final = 6
WILL_DELAY: Final = 7


class Timer:
    """One deadline for a connection or a session."""

    def __init__(self, kind: int, connection: Connection | None, session: Session | None) -> None:
        self.kind = kind
        self.connection = connection
        self.session = session


class Timers:
    """A heap of deadlines. A timer that lost its meaning is noticed when it comes up."""

    def __init__(self) -> None:
        self.heap: list[tuple[float, int, Timer]] = []
        self.count = 0

    def add(self, when: float, timer: Timer) -> None:
        """Let `timer` come up at `when` (monotonic seconds)."""
        self.count += 1
        heappush(self.heap, (when, self.count, timer))

    def next_due(self) -> float | None:
        """Return when the next timer is due."""
        return self.heap[0][0] if self.heap else None

    def take_due(self, now: float, count_max: int) -> list[Timer]:
        """Return timers that are due, the earliest first."""
        due: list[Timer] = []
        while len(due) < count_max and self.heap and self.heap[0][0] <= now:
            due.append(heappop(self.heap)[2])
        return due
