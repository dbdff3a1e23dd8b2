"""Checkpoints beside the batches: when one begins, its fsync, and the memory that it frees.

The rows of a checkpoint are written with the batches (`committer`). Once all of them are committed
they are fsynced on a thread of its own, and what is in the tables may leave the memory.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from gateway.core.broker import Broker
from gateway.core.sessions.session import Session
from gateway.store.recovery import Recovered
from gateway.store.store import Store

EVICTION_SECONDS = 0.001
"""How long queues are evicted in one go after a checkpoint, before sockets are served."""


class Checkpoints:
    """The checkpoints of one run, one at a time."""

    def __init__(
        self,
        broker: Broker,
        store: Store,
        recovered: Recovered,
        failed: Callable[[BaseException], None],
    ) -> None:
        """Args:
        failed: called when the tables could not be written.
        """
        self.broker = broker
        self.store = store
        self.recovered = recovered
        self._failed = failed
        self._loop = asyncio.get_running_loop()
        # Of the usual priority, as every thread is: one that gives way to other programs would
        # stand still with the interpreter in its hand, and the event loop with it (decision 120).
        self._copies = ThreadPoolExecutor(1, "checkpoint")
        self._finishing: asyncio.Future[int] | None = None
        self._evictable: list[Session] = []
        """What the last checkpoint wrote and memory still holds: the next one has to wait."""

    def is_due(self, interval_seconds: float, now: float) -> bool:
        """Return whether one is to begin with the next batch."""
        # A new one states again how far the tables hold each queue: the last statement has to be
        # used up before.
        if self._evictable:
            return False
        return self.store.wants_checkpoint(self.broker.changes, interval_seconds, now)

    def begin(self, now: float) -> None:
        """Begin one: it covers everything up to the next record."""
        next_sequence = self.broker.batch.next_sequence
        self.store.begin_checkpoint(self.recovered, next_sequence, now)

    def rows_committed(self, sessions: set[Session]) -> None:
        """Have all committed rows fsynced, and evict what they hold of `sessions`."""
        if self.store.checkpoint_lacks_room:
            return
        self._finish()
        self._evictable = list(sessions)
        self._evict()

    def _finish(self) -> None:
        """Have rows that are all committed fsynced: no client waits for that."""
        self._finishing = self._loop.run_in_executor(self._copies, self.store.finish_checkpoint)
        self._finishing.add_done_callback(self._finished)

    def _finished(self, done: "asyncio.Future[int]") -> None:
        error = done.exception()
        if error is not None:
            self._failed(error)
            return
        self.store.checkpoint_finished(done.result())

    def _evict(self) -> None:
        """Evict what is in the tables, for some milliseconds at a time."""
        deadline = time.monotonic() + EVICTION_SECONDS
        while self._evictable:
            self.broker.evict(self._evictable.pop())
            if time.monotonic() >= deadline:
                self._loop.call_soon(self._evict)
                return

    def evict_no_more(self) -> None:
        """Forget what could be evicted: the process is to end, and its memory with it."""
        self._evictable.clear()

    async def finished(self) -> None:
        """Wait until no fsync is under way."""
        if self._finishing is not None:
            await asyncio.wait([self._finishing])

    def close(self) -> None:
        """End the thread."""
        self._copies.shutdown()
