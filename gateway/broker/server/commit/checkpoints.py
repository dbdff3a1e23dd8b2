"""Runs checkpoints, which write the broker's state to database tables while commits continue.

While a checkpoint is in progress, some of its rows are written with each batch of records. Once the
batch is durable, a thread commits the rows. Clients do not wait for this commit. It takes up to ten
milliseconds, because SQLite writes whole pages. After the last rows have been committed, the
database is synced, and queued messages that the tables contain are removed from memory.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from gateway.broker.core.broker import Broker
from gateway.broker.core.sessions.session import Session
from gateway.broker.store.recovery import Recovered
from gateway.broker.store.store import Store

EVICTION_SECONDS = 0.001
"""Maximum time for removing messages from memory before sockets are served again, in seconds."""


class Checkpoints:
    """Coordinator of checkpoints. Only one checkpoint runs at a time, alongside the commits."""

    def __init__(
        self,
        broker: Broker,
        store: Store,
        recovered: Recovered,
        failed: Callable[[BaseException], None],
        on_rows_possible: Callable[[], None],
    ) -> None:
        """Set the dependencies and the callbacks.

        Args:
            recovered: the state from which the broker started.
            failed: called if the tables cannot be written.
            on_rows_possible: called after a commit of rows, because the next batch may include more
                rows.
        """
        self.broker = broker
        self.store = store
        self.recovered = recovered
        self._failed = failed
        self._on_rows_possible = on_rows_possible
        self._loop = asyncio.get_running_loop()
        # Normal priority, like every thread: one that yields to other programs could stop while it
        # holds the interpreter lock, and block the event loop with it (decision 120).
        self._thread = ThreadPoolExecutor(1, "checkpoint")
        self._committing: asyncio.Future[None] | None = None
        self._finishing: asyncio.Future[int] | None = None
        self._evictable: list[Session] = []
        """Sessions in the last checkpoint whose messages are still in memory. The next checkpoint
        does not start before these messages are removed."""

    def is_due(self, interval_seconds: float, now: float) -> bool:
        """Return True if a checkpoint should start with the next batch of records.

        `interval_seconds` is the configured checkpoint interval.
        """
        # A new checkpoint sets how much of each queue the tables contain, so the previous values
        # must be used up first.
        if self._evictable:
            return False
        return self.store.wants_checkpoint(self.broker.state.changes, interval_seconds, now)

    def begin(self, now: float) -> None:
        """Start a checkpoint, which contains all changes that have been recorded so far."""
        next_sequence = self.broker.batch.next_sequence
        self.store.begin_checkpoint(self.recovered, next_sequence, now)

    def commit_rows(self) -> None:
        """Commit the checkpoint rows that were written together with a batch.

        The batch must already be durable.
        """
        if self._committing is None and self.store.has_rows:
            self._committing = self._loop.run_in_executor(self._thread, self.store.commit_rows)
            self._committing.add_done_callback(self._committed)

    def _committed(self, done: "asyncio.Future[None]") -> None:
        self._committing = None
        error = done.exception()
        if error is not None:
            self._failed(error)
            return
        sessions = self.store.rows_committed()
        if sessions is not None:
            self.finish(sessions)
        self._on_rows_possible()

    def finish(self, sessions: set[Session]) -> None:
        """Start to sync a checkpoint's rows, and free the memory of the messages in these rows.

        `sessions` are the sessions in the checkpoint. Call this method only after all rows of the
        checkpoint have been committed.
        """
        self._finishing = self._loop.run_in_executor(self._thread, self.store.finish_checkpoint)
        self._finishing.add_done_callback(self._finished)
        self._evictable = list(sessions)
        self._evict()

    def _finished(self, done: "asyncio.Future[int]") -> None:
        error = done.exception()
        if error is not None:
            self._failed(error)
            return
        self.store.checkpoint_finished(done.result())

    def _evict(self) -> None:
        """Free the memory of messages that the tables contain.

        The work is interrupted every `EVICTION_SECONDS`, so that the event loop can serve clients.
        """
        deadline = time.monotonic() + EVICTION_SECONDS
        while self._evictable:
            self.broker.evict(self._evictable.pop())
            if time.monotonic() >= deadline:
                self._loop.call_soon(self._evict)
                return

    def evict_no_more(self) -> None:
        """Stop freeing the memory of stored messages, because the process is about to end."""
        self._evictable.clear()

    @property
    def is_committing(self) -> bool:
        """True if rows of a checkpoint are being committed."""
        return self._committing is not None

    async def committed(self) -> None:
        """Wait until the running commit of checkpoint rows is complete."""
        if self._committing is not None:
            await asyncio.wait([self._committing])

    async def finished(self) -> None:
        """Wait until the fsync that completes a checkpoint has finished."""
        if self._finishing is not None:
            await asyncio.wait([self._finishing])

    def close(self) -> None:
        """End the thread that commits rows."""
        self._thread.shutdown()
