"""Decides when records are committed: soon if a client is waiting, otherwise after a delay.

Before the process ends, `Committer.drain` commits the remaining records.
"""

import asyncio
import logging
from collections.abc import Callable

from gateway.broker.core.broker import Broker
from gateway.broker.server.commit.batch_writer import BatchWriter
from gateway.broker.server.commit.checkpoints import Checkpoints
from gateway.broker.server.commit.faults import StoreFailed, fault_of_broker, fault_of_writing
from gateway.broker.server.commit.journal_room import JournalRoom
from gateway.broker.server.commit.outcomes import Outcomes
from gateway.broker.server.host.clock import WallClock
from gateway.broker.store.recovery import Recovered
from gateway.broker.store.store import Store
from gateway.configuration.sections import Limits as BatchLimits

logger = logging.getLogger(__name__)


class Committer:
    """Scheduler of commits. Only one batch of collected records is committed at a time."""

    def __init__(
        self,
        broker: Broker,
        store: Store,
        recovered: Recovered,
        limits: BatchLimits,
        wall_clock: WallClock,
        outcomes: Outcomes[StoreFailed],
    ) -> None:
        """Set the dependencies. The callback `outcomes.failed` is called after a fatal error."""
        self.broker = broker
        self.store = store
        self.limits = limits
        self.failure: StoreFailed | None = None
        self._failed = outcomes.failed
        self.journal_room = JournalRoom(broker, store)
        self.checkpoints = Checkpoints(
            broker, store, recovered, failed=self._fail_tables, on_rows_possible=outcomes.released
        )
        self.writer = BatchWriter(
            broker,
            store,
            wall_clock,
            self.journal_room,
            self.checkpoints,
            Outcomes(
                released=outcomes.released,
                written=outcomes.written,
                full=outcomes.full,
                failed=self._fail,
            ),
        )
        self.metrics = self.writer.metrics
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_is_lazy = False

    # -- when

    def tick(self) -> None:
        """Commit new records, or schedule their commit.

        Call this method whenever the broker core has new records. Records that no client is
        waiting for are written immediately, but may be synced later.
        """
        if self.writer.is_stopped:
            return
        broker = self.broker
        if not self.writer.is_busy:
            if broker.waits_for_commit():
                self._commit_after(self.limits.commit_delay, lazy=False)
            elif self.store.checkpointing or self.journal_room.is_wanted:
                self._commit()
            elif broker.batch.record_count:
                # No client waits for these records, so they may share a later fsync.
                self._commit_after(self.limits.lazy_commit_delay, lazy=True)
        if broker.batch.lazy:
            self.write_down()

    def wants_tick(self) -> bool:
        """Return True if `tick` has work to do: records, checkpoint rows, or data to remove."""
        return self.journal_room.is_wanted or self._has_work()

    def write_down(self) -> None:
        """Write the records for which no client is waiting, without syncing them.

        Written records survive if the process is killed. Packets that reveal these records to
        clients may therefore be sent after this call. The records are synced later, with their
        batch.
        """
        if self.broker.batch.lazy and not self.writer.is_stopped:
            self.writer.write_part()

    def upkeep(self, journal_bytes_max: int) -> None:
        """Start a checkpoint if one is due, and remove old data from the journal.

        `journal_bytes_max` is the maximum size of the journal. Called once a second.
        """
        if self.failure is not None:
            return
        self.metrics.advance(self._loop.time())
        self.journal_room.update_is_wanted(journal_bytes_max)
        if self.writer.is_busy or self.writer.is_last:
            return  # at the end `drain` starts the last checkpoint, and no other may run
        self.store.resume_checkpoint()
        if self.checkpoints.is_due(self.limits.checkpoint_interval, self._loop.time()):
            self._commit()
        else:
            self.tick()

    def _commit_after(self, delay_seconds: float, *, lazy: bool) -> None:
        if delay_seconds <= 0:
            self._commit()
            return
        if self._timer is not None:
            if lazy or not self._timer_is_lazy:
                return
            self._timer.cancel()
        self._timer_is_lazy = lazy
        self._timer = self._loop.call_later(delay_seconds, self._commit_on_timer)

    def _commit_on_timer(self) -> None:
        self._timer = None
        if not self.writer.is_busy and not self.writer.is_stopped:
            self._commit()

    def _commit(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self.writer.commit(checkpoint_interval_seconds=self.limits.checkpoint_interval)

    def _has_work(self) -> bool:
        return bool(
            self.broker.waits_for_commit()
            or self.broker.batch.record_count
            or self.store.checkpointing
        )

    # -- faults

    def _fail(self, error: BaseException) -> None:
        is_journal = isinstance(error, OSError)
        what = "the journal" if is_journal else self.store.path.name
        self._end_with(fault_of_writing(what, error))

    def _fail_tables(self, error: BaseException) -> None:
        self._end_with(fault_of_writing(self.store.path.name, error))

    def halt(self, error: BaseException) -> None:
        """Stop all sending and writing after a bug, because the state may be inconsistent."""
        if self.failure is None:
            self._end_with(fault_of_broker(error))

    def _end_with(self, fault: StoreFailed) -> None:
        self.failure = fault
        self.writer.is_stopped = True
        logger.critical("%s", fault)
        self._failed(fault)

    # -- the end

    async def drain(self) -> None:
        """Commit all records, write a final checkpoint if space permits, and end the threads."""
        self.writer.write_last()
        await self._commit_while(self._has_work)
        self.checkpoints.evict_no_more()
        await self.checkpoints.finished()
        if not self.writer.is_stopped and not self.store.checkpoint_lacks_room:
            self.checkpoints.begin(self._loop.time())
            await self._commit_while(lambda: self.store.checkpointing)
        await self.checkpoints.finished()
        # Pending upkeep is left to the next run: the threads have ended.
        if self._timer is not None:
            self._timer.cancel()
        self.writer.close()
        self.checkpoints.close()

    async def _commit_while(self, wanted: Callable[[], bool]) -> None:
        writer = self.writer
        await self._quiet()
        while not writer.is_stopped and wanted():
            # The event loop may have started a batch since the last one ended.
            if not writer.is_busy:
                self._commit()
            await self._quiet()

    async def _quiet(self) -> None:
        """Wait until no batch of records and no rows of a checkpoint are being committed."""
        while self.writer.is_busy or self.checkpoints.is_committing:
            await self.writer.quiet.wait()
            await self.checkpoints.committed()
