"""Speak only after the commit: this module is the durability argument.

A batch is sealed, its blob goes into the journal and is fsynced on a thread of its own (on a quick
disk and for a small batch: at once), some rows of a checkpoint with it, and only then may the
batch's bytes leave. What arrives meanwhile is the next batch.
A full disk makes the batch wait, unsaid, until there is room. Any other failure ends the process:
nothing untrue has been said.
"""

import asyncio
import logging
import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from gateway.configuration.sections import Limits as BatchLimits
from gateway.core.broker import Batch, Broker
from gateway.core.records.kinds import Observation
from gateway.core.sessions.session import Session
from gateway.server.clock import WallClock
from gateway.server.figures import CommitFigures
from gateway.store.no_room import NoRoom
from gateway.store.recovery import Recovered
from gateway.store.store import Store
from gateway.threads import give_way

logger = logging.getLogger(__name__)

EVICTION_SECONDS = 0.001
"""How long queues are let go of after a checkpoint, before sockets get their turn."""


QUICK_COMMIT_SECONDS = 0.0005
"""A disk that commits within this time is not worth a thread, which takes a good part of it to be
asked and to answer. Nobody notices that the loop stood still meanwhile."""

QUICK_COMMITS = 16
"""Commits over which the time is averaged, so that one that was slow does not make a quick disk a
slow one for long. A card takes 5 ms and more and never comes here."""

QUICK_BLOB_BYTES = 1024
"""Larger batches, which are those of more than a message or two, go to the thread: the next one is
decoded, and QoS 0 passes, while the disk works."""

NO_ROOM_SECONDS = 0.25
"""Between two attempts to write a batch for which there was no room: little for clients that wait,
and no load."""


class StoreFailed(OSError):
    """What was to be committed is not on disk; the process has to end."""


class Committer:
    """Turns what the core has collected into commits, one at a time."""

    def __init__(
        self,
        broker: Broker,
        store: Store,
        recovered: Recovered,
        limits: BatchLimits,
        wall_clock: WallClock,
        *,
        spoken: Callable[[], None],
        failed: Callable[[StoreFailed], None],
        written: Callable[[], None] = lambda: None,
        full: Callable[[], None] = lambda: None,
    ) -> None:
        self.broker = broker
        self.store = store
        self.recovered = recovered
        self.limits = limits
        self.figures = CommitFigures()
        self.failure: StoreFailed | None = None
        self.wall_clock = wall_clock
        self._spoken = spoken
        self._failed = failed
        self._written = written
        self._full = full
        self._loop = asyncio.get_running_loop()
        self.sealed_at = self._loop.time()
        """When the last batch with anything in it was sealed."""
        self._commits = ThreadPoolExecutor(1, "commit")
        self._copies = ThreadPoolExecutor(1, "checkpoint", initializer=give_way)
        self._busy = False
        self._commit_seconds = 2 * QUICK_COMMIT_SECONDS
        """What a commit takes on average; a disk is slow until it has shown that it is not."""
        self._ended = False
        self._started_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._timer_is_lazy = False
        self._drop_wanted = False
        self._waiting: tuple[Batch, set[Session] | None] | None = None
        """The batch for which there was no room. Nothing is under way on the disk meanwhile."""
        self._draining = False
        self.is_unwritten = False
        """The end came while a batch waited for room: the next start finds the last run unclean."""
        self._finishing: asyncio.Future[int] | None = None
        self._evictable: list[Session] = []
        """What the last checkpoint wrote and memory still holds: the next one has to wait."""
        self._journal_bytes_max = 0
        self._journal_given_up: int | None = None
        """What may be kept of the journal for once, for want of room."""
        self._quiet = asyncio.Event()
        self._quiet.set()

    # -- when

    def turn(self) -> None:
        """Commit now, later, or not at all: called whenever the core may have something new.

        Afterwards all facts that no client waits for are written, at least.
        """
        if self._ended or self.failure is not None:
            return
        broker = self.broker
        if not self._busy:
            if broker.output.waits():
                self._commit_after(self.limits.commit_delay, lazy=False)
            elif self.store.checkpointing or self._drop_wanted:
                self._commit()
            elif broker.recorder.record_count:
                # Nobody waits for these facts: they may share a later fsync.
                self._commit_after(self.limits.lazy_commit_delay, lazy=True)
        if broker.recorder.lazy:
            self.write_down()

    def wants_turn(self) -> bool:
        """Return whether `turn` would find something to do, a commit in flight aside."""
        return self._drop_wanted or self._has_work()

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
        if not self._busy and self.failure is None:
            self._commit()

    def stalled_seconds(self) -> float:
        """Return how long the commit in flight has been under way, 0 if there is none."""
        if not self._busy or self._waiting is not None:
            return 0.0  # waiting for room is what a broker has to do that is alive
        return self._loop.time() - self._started_at

    @property
    def waits_for_room(self) -> bool:
        """Whether a batch cannot be written because the disk is full."""
        return self._waiting is not None

    def write_down(self) -> None:
        """Write what was recorded and no client waits for, so that a killed process keeps it.

        It is fsynced with its batch. Whatever may tell a client that it has happened leaves later.
        """
        if self.broker.recorder.lazy and not self._ended and self.failure is None:
            self._write_part()

    def _write_part(self) -> None:
        broker = self.broker
        # A part has to be a state that there was: the end of a session and what it leaves others.
        self._hand_over()
        part = broker.take_part(self._loop.time(), *self.wall_clock.read())
        try:
            self.store.write_unsynced(broker.recorder.batch_number, part)
        except OSError as error:
            self._fail(error)

    # -- one batch

    def _commit(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        broker, store = self.broker, self.store
        self._hand_over()
        recorder = broker.recorder
        is_lazy = recorder.lazy
        size_bytes = recorder.blob_bytes() if recorder.record_count else 0
        commits_here = (
            self._commit_seconds < QUICK_COMMIT_SECONDS and size_bytes <= QUICK_BLOB_BYTES
        )
        # What is written of the next batch while this one is under way counts only behind it.
        writes_ahead = is_lazy or not commits_here
        if writes_ahead and size_bytes and not store.has_room_ahead(size_bytes):
            self._write_part()  # it takes a while until another file is begun
            if self.failure is not None:
                return
        first_sequence = broker.recorder.next_sequence
        now = self._loop.time()
        batch = broker.seal(now, *self.wall_clock.read())
        if batch.blob is not None:
            self.sealed_at = now
        if self._wants_checkpoint(now):
            store.begin_checkpoint(self.recovered, broker.recorder.next_sequence, now)
        if batch.blob is None and not store.checkpointing and not self._drop_wanted:
            broker.committed(batch)
            self._spoken()
            return
        try:
            store.begin(first_sequence, batch.blob)
            written = store.step_checkpoint(amid_traffic=bool(batch.withheld))
            if self._drop_wanted:
                self._drop_blobs()
        except (sqlite3.Error, OSError) as error:
            self._fail(error)
            return
        if writes_ahead:
            store.write_ahead()
        if is_lazy:
            self._written()
        if commits_here:
            self._commit_here(batch, written)
            return
        self._busy = True
        self._quiet.clear()
        self._started_at = now
        future = self._loop.run_in_executor(self._commits, store.fsync_commit)
        future.add_done_callback(lambda done: self._committed(done, batch, written))

    def _commit_here(self, batch: Batch, written: set[Session] | None) -> None:
        """Commit on the loop's thread: this disk is done before a thread would have begun."""
        try:
            seconds = self.store.fsync_commit()
        except NoRoom as error:
            self._busy = True
            self._quiet.clear()
            self._wait_for_room(error, batch, written)
            return
        except (sqlite3.Error, OSError) as error:
            self._fail(error)
            return
        self._speak(batch, written, seconds)

    def _hand_over(self) -> None:
        """Read what sessions that end in this batch leave to others: one transaction for both."""
        for request in self.broker.take_hand_overs():
            contents, deliveries, _ = self.store.load_page(
                request.session, request.first_position, request.count, request.contents
            )
            self.broker.handed_over(request, contents, deliveries, self._loop.time())

    def _drop_blobs(self) -> None:
        """Remove exported blobs, and beyond `max_journal` also such as are not exported."""
        dropped = self.store.drop_exported()
        limit, self._journal_given_up = self._journal_given_up, None
        if limit is None:
            limit = self._journal_bytes_max
        lost = self.store.truncate_journal(limit)
        if lost is not None:
            logger.error(
                "the journal reached max_journal, or the disk its floor: events %d to %d will be "
                "missing in the session log; is `oncegate upload` running?",
                *lost,
            )
            self.broker.recorder.observed(
                None, Observation.LOG_TRUNCATED, str(lost[0]), str(lost[1])
            )
        self._drop_wanted = dropped or lost is not None

    def _committed(
        self, done: "asyncio.Future[float]", batch: Batch, written: set[Session] | None
    ) -> None:
        error = done.exception()
        if isinstance(error, NoRoom):
            self._wait_for_room(error, batch, written)
            return
        self._busy = False
        self._quiet.set()
        if error is not None:
            self._fail(error)
            return
        self._speak(batch, written, done.result())

    def _wait_for_room(self, error: NoRoom, batch: Batch, written: set[Session] | None) -> None:
        """Nothing of the batch has been said: it is as good a while later."""
        if self._draining:
            self.is_unwritten = self._ended = True
            logger.error(
                "the last batch cannot be written: %s; nothing of it has been acknowledged", error
            )
            self._busy = False
            self._quiet.set()
            return
        self._waiting = batch, written
        self._full()
        self._loop.call_later(NO_ROOM_SECONDS, self._write_again)

    def _write_again(self) -> None:
        if self._waiting is None or self.failure is not None:
            return
        batch, written = self._waiting
        try:
            # What the tables cover and is exported, or the budget gives up, makes room in place.
            self._drop_blobs()
        except OSError as error:
            self._fail(error)
            return
        self._waiting = None
        self._started_at = self._loop.time()
        future = self._loop.run_in_executor(self._commits, self.store.fsync_commit)
        future.add_done_callback(lambda done: self._committed(done, batch, written))

    def _speak(self, batch: Batch, written: set[Session] | None, seconds: float) -> None:
        """The batch is durable: let its bytes go."""
        self._commit_seconds += (seconds - self._commit_seconds) / QUICK_COMMITS
        self.figures.add(seconds, 0 if batch.blob is None else len(batch.blob))
        self.broker.committed(batch)
        if written is not None and not self.store.checkpoint_lacks_room:
            self._finish_checkpoint()
            self._evictable = list(written)
            self._evict()
        self._spoken()

    def _evict(self) -> None:
        """Let go of what is in the tables, for some milliseconds at a time."""
        deadline = time.monotonic() + EVICTION_SECONDS
        while self._evictable:
            self.broker.deliverer.evict(self._evictable.pop())
            if time.monotonic() >= deadline:
                self._loop.call_soon(self._evict)
                return

    def _fail(self, error: BaseException) -> None:
        is_journal = isinstance(error, OSError)
        self._fail_to_write("the journal" if is_journal else self.store.path.name, error)

    def _fail_to_write(self, what: str, error: BaseException) -> None:
        self._end_with(
            f"cannot write {what}: {error}; nothing that was not on disk has "
            "been acknowledged. Look at the disk (full? read-only? failing?), then start again"
        )

    def halt(self, error: BaseException) -> None:
        """Say nothing more after a mistake of our own: the state may be half changed."""
        if self.failure is None:
            self._end_with(
                f"a mistake in the broker itself ({type(error).__name__}: {error}); nothing that "
                "was not on disk has been acknowledged. Start again, and report the lines above"
            )

    def _end_with(self, sentence: str) -> None:
        self.failure = StoreFailed(sentence)
        logger.critical("%s", self.failure)
        self._failed(self.failure)

    # -- upkeep

    def exported(self, sequence: int) -> None:
        """The session log is sealed up to `sequence`: those blobs may go."""
        self.store.exported_sequence = max(self.store.exported_sequence, sequence)

    def give_up_journal(self, size_bytes: int) -> None:
        """Drop so much of the journal's oldest part, exported or not, as far as the tables cover
        it: the disk is short of room."""
        if size_bytes:
            self._journal_given_up = max(0, self.store.journal_total_bytes - size_bytes)
            self._drop_wanted = True

    def tick(self, journal_bytes_max: int) -> None:
        """Once a second: checkpoints that are due, blobs to drop."""
        if self.failure is not None:
            return
        self._journal_bytes_max = journal_bytes_max
        is_too_long = self.store.journal_total_bytes > journal_bytes_max
        if is_too_long or self.store.has_droppable():
            self._drop_wanted = True
        if self._busy or self._draining:
            return  # at the end the last checkpoint is begun by `drain`, and no other beside it
        self.store.resume_checkpoint()
        if self._wants_checkpoint(self._loop.time()):
            self._commit()
        else:
            self.turn()

    def _wants_checkpoint(self, now: float) -> bool:
        # A new one says anew how far the tables hold each queue: first the old word is used up.
        changes = self.broker.state.changes
        interval = self.limits.checkpoint_interval
        if self._evictable or self._draining:
            return False
        return self.store.wants_checkpoint(changes, interval, now)

    def _finish_checkpoint(self) -> None:
        """Have rows that are all committed fsynced: no client waits for that."""
        self._finishing = self._loop.run_in_executor(self._copies, self.store.finish_checkpoint)
        self._finishing.add_done_callback(self._checkpoint_finished)

    def _checkpoint_finished(self, done: "asyncio.Future[int]") -> None:
        error = done.exception()
        if error is not None:
            self._fail_to_write(self.store.path.name, error)
            return
        self.store.checkpoint_finished(done.result())

    async def drain(self) -> None:
        """Commit everything, write the tables whole, and end the threads."""
        self._draining = True
        if self._waiting is not None:
            self._write_again()
        await self._commit_while(self._has_work)
        self._evictable.clear()  # the memory goes with the process
        await self._await_checkpoint()
        if self.failure is None and not self._ended and not self.store.checkpoint_lacks_room:
            now = self._loop.time()
            next_sequence = self.broker.recorder.next_sequence
            self.store.begin_checkpoint(self.recovered, next_sequence, now)
            await self._commit_while(lambda: self.store.checkpointing)
        await self._await_checkpoint()
        # Upkeep that is still wanted is for the next run: the threads are gone.
        self._ended = True
        if self._timer is not None:
            self._timer.cancel()
        self._commits.shutdown()
        self._copies.shutdown()

    async def _await_checkpoint(self) -> None:
        if self._finishing is not None:
            await asyncio.wait([self._finishing])

    async def _commit_while(self, wanted: Callable[[], bool]) -> None:
        await self._quiet.wait()
        while self.failure is None and not self._ended and wanted():
            # A turn of the loop may have begun a batch since the last one was over.
            if not self._busy:
                self._commit()
            await self._quiet.wait()

    def _has_work(self) -> bool:
        return bool(
            self.broker.output.waits()
            or self.broker.recorder.record_count
            or self.store.checkpointing
        )
