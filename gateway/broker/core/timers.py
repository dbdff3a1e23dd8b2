"""Timers of connections and sessions, ordered by the time at which they are due.

The event loop calls `Broker.wake` to run the due timers. A connection or session has at most one
timer of each kind. When a connection or session ends, its timers are removed, so a client that
reconnects a thousand times a second leaves no timers.
"""

from enum import Enum

from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.session import Session


class TimerKind(Enum):
    """The purpose of a timer."""

    CONNECT_TIMEOUT = 0
    KEEP_ALIVE = 1
    RETRY = 2
    AWAIT_REL = 3
    SESSION_EXPIRY = 4
    RETAINED = 5
    SLOW_READER = 6
    WILL_DELAY = 7
    DEFERRED = 8
    CREDENTIALS = 9
    PACE = 10


class Timer:
    """A deadline of a connection or a session. `kind` is the purpose of the timer."""

    def __init__(
        self, kind: TimerKind, connection: Connection | None, session: Session | None
    ) -> None:
        self.kind = kind
        self.connection = connection
        self.session = session
        self.due = 0.0
        self.order = 0
        """Number in order of addition. If two timers are due at the same time, the lower fires
        first."""
        self.heap_index = -1
        """Position of the timer in the heap, or -1 if it is not in the heap."""


class Timers:
    """A heap of timers. Each timer stores its position in the heap, so that it can be removed."""

    def __init__(self) -> None:
        self.heap: list[Timer] = []
        self.count = 0
        self.by_connection: dict[Connection, list[Timer]] = {}
        self.by_session: dict[Session, list[Timer]] = {}

    def add(self, due: float, timer: Timer) -> None:
        """Schedule `timer` at `due` (monotonic seconds), replacing a timer of the same kind."""
        owned = self._timers_with(timer)
        for other in owned:
            if other.kind is timer.kind:
                owned.remove(other)
                self._remove_from_heap(other)
                break
        owned.append(timer)
        self.count += 1
        timer.due = due
        timer.order = self.count
        self.heap.append(timer)
        self._sift_up(timer, len(self.heap) - 1)

    def next_due(self) -> float | None:
        """Return when the next timer is due (monotonic seconds), or None if there is no timer."""
        return self.heap[0].due if self.heap else None

    def take_due(self, now: float, order_max: int) -> Timer | None:
        """Remove and return the timer that is due first, or return None if no timer is due.

        Also return None if this timer's `order` is above `order_max`. The `order` of a timer is
        higher than that of all timers added before, so this excludes recently added timers.
        """
        if not self.heap:
            return None
        timer = self.heap[0]
        if timer.due > now or timer.order > order_max:
            return None
        self._remove_from_heap(timer)
        self._remove_from_owner(timer)
        return timer

    def forget_connection(self, connection: Connection) -> None:
        """Remove all timers of a closed connection."""
        for timer in self.by_connection.pop(connection, []):
            self._remove_from_heap(timer)

    def forget_session(self, session: Session) -> None:
        """Remove all timers of an ended session."""
        for timer in self.by_session.pop(session, []):
            self._remove_from_heap(timer)

    def _timers_with(self, timer: Timer) -> list[Timer]:
        """Return all timers of the connection or session that this timer belongs to."""
        if timer.connection is not None:
            return self.by_connection.setdefault(timer.connection, [])
        assert timer.session is not None, "a timer of a connection or a session"
        return self.by_session.setdefault(timer.session, [])

    def _remove_from_owner(self, timer: Timer) -> None:
        owned = self._timers_with(timer)
        owned.remove(timer)
        if owned:
            return
        if timer.connection is not None:
            del self.by_connection[timer.connection]
        elif timer.session is not None:
            del self.by_session[timer.session]

    # -- the heap

    def _remove_from_heap(self, timer: Timer) -> None:
        heap_index = timer.heap_index
        timer.heap_index = -1
        last = self.heap.pop()
        if last is not timer:
            self._sift_up(last, heap_index)
            self._sift_down(last, last.heap_index)

    def _sift_up(self, timer: Timer, heap_index: int) -> None:
        """Place a timer at `heap_index` and move it up while it is due earlier than its parent."""
        heap = self.heap
        while heap_index:
            above = (heap_index - 1) // 2
            parent = heap[above]
            if not _comes_before(timer, parent):
                break
            heap[heap_index] = parent
            parent.heap_index = heap_index
            heap_index = above
        heap[heap_index] = timer
        timer.heap_index = heap_index

    def _sift_down(self, timer: Timer, heap_index: int) -> None:
        """Place a timer at `heap_index` and move it down while a child is due earlier."""
        heap = self.heap
        count = len(heap)
        while True:
            below = 2 * heap_index + 1
            if below >= count:
                break
            if below + 1 < count and _comes_before(heap[below + 1], heap[below]):
                below += 1
            child = heap[below]
            if not _comes_before(child, timer):
                break
            heap[heap_index] = child
            child.heap_index = heap_index
            heap_index = below
        heap[heap_index] = timer
        timer.heap_index = heap_index


def _comes_before(one: Timer, other: Timer) -> bool:
    if one.due != other.due:
        return one.due < other.due
    return one.order < other.order
