"""Computes the sums over all sessions for the status and the `$SYS` topics.

The sums are computed in steps. A single pass over 100,000 sessions would delay all clients by a
tenth of a second. The sums may or may not include a change that happens between two steps.
"""

import asyncio
from collections.abc import Callable

from gateway.broker.core.state import State

# Not Final: tests set a small value.
SLICE_STEPS: int = 1_000
"""Number of sessions and deliveries in flight counted before clients are served again, which takes
half a millisecond on a PC, and some milliseconds on a Raspberry Pi."""


class Totals:
    """Sums over all sessions, such as the number of queued messages.

    Sessions that are opened while the sums are computed are not included.
    """

    def __init__(self, began_at: float) -> None:
        self.began_at = began_at
        """Time at which the pass over all sessions began, in seconds of the event loop's clock."""
        self.sessions = 0
        self.connected = 0
        self.persistent = 0
        self.queued_messages = 0
        self.queued_bytes = 0
        self.inflight = 0
        self.inflight_bytes = 0
        """Size of the topics and payloads, without messages that are only on disk."""
        self.awaiting_release = 0
        self.awaiting_release_bytes = 0
        self.slowing: list[str] = []
        """Identifiers of clients with a full queue, whose publishers have to wait."""
        self.filling: list[str] = []
        """Identifiers of clients whose queues are at least 80 % full, without dropped messages and
        without waiting publishers."""


class Walk:
    """One pass over all sessions, which computes the totals."""

    def __init__(self, state: State, began_at: float) -> None:
        self.totals = Totals(began_at)
        self._left = list(state.sessions.values())

    def advance(self) -> bool:
        """Add the next sessions to the totals, until about `SLICE_STEPS` items have been counted.

        The items are sessions and deliveries in flight. Return True once all sessions are included.
        """
        totals, left = self.totals, self._left
        steps = 0
        while left and steps < SLICE_STEPS:
            session = left.pop()
            totals.sessions += 1
            totals.connected += session.connection is not None
            totals.persistent += session.persistent
            totals.queued_messages += session.queued_count
            totals.queued_bytes += session.queued_bytes
            totals.inflight += len(session.outbound)
            for delivery in session.outbound.values():
                if delivery.message is not None:
                    totals.inflight_bytes += delivery.message.size_bytes()
            totals.awaiting_release += len(session.inbound)
            totals.awaiting_release_bytes += session.inbound_bytes
            if session.slows:
                totals.slowing.append(session.client_id)
            elif session.filling_noted and not session.overflow_noted:
                totals.filling.append(session.client_id)
            steps += 1 + len(session.outbound)
        return not left


class SessionTotals:
    """Totals over all sessions, computed on request. Several callers can share one pass."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._loop = asyncio.get_running_loop()
        self._latest: Totals | None = None
        self._walk: Walk | None = None
        self._asking: list[Callable[[Totals], None]] = []
        """Callbacks that receive the totals of the pass that is running."""
        self._asking_next: list[Callable[[Totals], None]] = []
        """Callbacks that need newer totals, and receive the totals of the next pass."""

    def ask(self, receive: Callable[[Totals], None], *, age_seconds_max: float) -> None:
        """Call `receive` with recent totals over all sessions.

        The argument `age_seconds_max` is the maximum age of the totals. If the latest totals are
        recent enough, `receive` is called immediately. Otherwise, it is called when a pass over all
        sessions has produced such totals.
        """
        before = self._loop.time() - age_seconds_max
        if self._walk is not None:
            is_new_enough = self._walk.totals.began_at > before
            (self._asking if is_new_enough else self._asking_next).append(receive)
        elif self._latest is not None and self._latest.began_at > before:
            receive(self._latest)
        else:
            self._begin([receive])

    async def current(self) -> Totals:
        """Wait for a new pass over all sessions, and return the totals."""
        asked: asyncio.Future[Totals] = self._loop.create_future()

        def receive(totals: Totals) -> None:
            if not asked.done():  # its task may have been cancelled
                asked.set_result(totals)

        self.ask(receive, age_seconds_max=0.0)
        return await asked

    def _begin(self, asking: list[Callable[[Totals], None]]) -> None:
        self._asking = asking
        self._walk = Walk(self._state, self._loop.time())
        self._advance()

    def _advance(self) -> None:
        walk = self._walk
        assert walk is not None, "a slice without a walk"
        if not walk.advance():
            self._loop.call_soon(self._advance)
            return
        self._walk = None
        self._latest = walk.totals
        asking, waiting = self._asking, self._asking_next
        self._asking, self._asking_next = [], []
        for receive in asking:
            receive(walk.totals)
        if waiting:
            self._begin(waiting)
