"""Writes batches of records to disk. Packets are sent only after their batch is durable.

When a batch is complete, a thread writes the encoded events of the batch (a blob) to the journal
and syncs the journal. With a fast disk and a small batch, the event loop's own thread does this.
Input that arrives during the write forms the next batch. Then database rows of a checkpoint, if
there are any, are committed. If the disk is full, the batch waits for space. Any other failure ends
the process.
"""

import asyncio
import logging
import sqlite3
from concurrent.futures import ThreadPoolExecutor

from gateway.broker.core.broker import Broker
from gateway.broker.core.output import SealedBatch
from gateway.broker.server.commit.checkpoints import Checkpoints
from gateway.broker.server.commit.journal_room import JournalRoom
from gateway.broker.server.commit.metrics import CommitMetrics
from gateway.broker.server.commit.outcomes import Outcomes
from gateway.broker.server.commit.recent_blobs import RecentBlobs
from gateway.broker.server.host.clock import WallClock
from gateway.broker.store.no_room import NoRoom
from gateway.broker.store.store import Store
from gateway.process.files import descriptors

logger = logging.getLogger(__name__)

QUICK_COMMIT_SECONDS = 0.0005
"""Commits faster than this need no thread: starting a thread takes a large part of this time."""

QUICK_COMMITS = 16
"""Commits over which the duration is averaged. On an SD card, each takes at least 5 ms."""

QUICK_BLOB_BYTES = 1024
"""Batches larger than this are written by the thread, so that the event loop can serve clients."""

NO_ROOM_SECONDS = 0.25
"""Time between attempts to write a batch while there is no space for it."""

SECONDS_BETWEEN_LINES = 60.0
"""Shortest time between two log lines about a batch that waits for a file descriptor."""


class BatchWriter:
    """Writer that saves one batch at a time, and releases its packets when the batch is durable."""

    def __init__(
        self,
        broker: Broker,
        store: Store,
        wall_clock: WallClock,
        journal_room: JournalRoom,
        checkpoints: Checkpoints,
        outcomes: Outcomes[BaseException],
    ) -> None:
        self.broker = broker
        self.store = store
        self.wall_clock = wall_clock
        self.journal_room = journal_room
        self.checkpoints = checkpoints
        self.metrics = CommitMetrics()
        self.recent = RecentBlobs()
        self._outcomes = outcomes
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, "commit")
        self.sealed_at = self._loop.time()
        """Monotonic time, in seconds, at which the last non-empty batch was completed."""
        self.is_busy = False
        """True if a batch is being written, or waits for space."""
        self.quiet = asyncio.Event()
        """Event that is set while no batch is being written and none waits for space."""
        self.quiet.set()
        self._started_at = 0.0
        self._commit_seconds = 2 * QUICK_COMMIT_SECONDS
        """Average commit duration in seconds. At first, the disk is assumed to be slow."""
        self._waiting: SealedBatch | None = None
        """The batch for which there was no space. No other batch is written meanwhile."""
        self._lacks_descriptor = False
        """True if the batch waits for a file descriptor and not for disk space."""
        self._next_line_at = 0.0
        self.is_last = False
        """True if the process is about to end. A batch that lacks space is then discarded."""
        self.is_unwritten = False
        """True if a batch was discarded. The next start treats this run as unclean."""
        self.is_stopped = False
        """True once all writing has stopped."""

    @property
    def waits_for_room(self) -> bool:
        """True if a batch is waiting because the disk is full."""
        return self._waiting is not None and not self.waits_for_descriptor

    @property
    def waits_for_descriptor(self) -> bool:
        """True if a batch is waiting because the process has no free file descriptor."""
        return self._waiting is not None and self._lacks_descriptor

    def stalled_seconds(self) -> float:
        """Return the duration of the running commit in seconds, or 0 if no commit is running."""
        if not self.is_busy or self._waiting is not None:
            return 0.0  # a broker that waits for space is alive
        return self._loop.time() - self._started_at

    def write_part(self) -> None:
        """Write the new records, but without fsync. They survive if the process is killed."""
        broker = self.broker
        # A part that ends a session must also pass the session's messages on to others.
        self._hand_over()
        part = broker.take_part(self._loop.time(), *self.wall_clock.read())
        try:
            self.store.write_unsynced(broker.batch.batch_number, part)
        except OSError as error:
            self._outcomes.failed(error)

    def commit(self, *, checkpoint_interval_seconds: float) -> None:
        """Complete the current batch and commit it. No other commit may be running."""
        broker, store = self.broker, self.store
        self._hand_over()
        recorder = broker.batch
        is_lazy = recorder.lazy
        size_bytes = recorder.blob_bytes() if recorder.record_count else 0
        commits_here = (
            self._commit_seconds < QUICK_COMMIT_SECONDS and size_bytes <= QUICK_BLOB_BYTES
        )
        # Parts of the next batch that are written meanwhile only count after this batch.
        writes_ahead = is_lazy or not commits_here
        if writes_ahead and size_bytes and not store.has_room_ahead(size_bytes):
            self.write_part()  # because starting another file takes a while
            if self.is_stopped:
                return
        first_sequence = recorder.next_sequence
        now = self._loop.time()
        batch = self._seal(now, checkpoint_interval_seconds)
        try:
            store.begin(first_sequence, batch.blob, broker.state.next_message_number)
            store.step_checkpoint(serving=not self.is_last)
            if self.journal_room.is_wanted:
                self.journal_room.drop()
        except (sqlite3.Error, OSError) as error:
            self._outcomes.failed(error)
            return
        if writes_ahead:
            store.write_ahead()
        if is_lazy:
            self._outcomes.written()
        if batch.blob is None:
            self._release(batch)
        elif commits_here:
            self._commit_here(batch)
        else:
            self._begin(now)
            self._commit_on_thread(batch)

    def _seal(self, now: float, checkpoint_interval_seconds: float) -> SealedBatch:
        """Complete the current batch, and start a checkpoint after the batch if one is due."""
        batch = self.broker.seal(now, *self.wall_clock.read())
        if batch.blob is not None:
            self.sealed_at = now
        if not self.is_last and self.checkpoints.is_due(checkpoint_interval_seconds, now):
            self.checkpoints.begin(now)
        return batch

    def _hand_over(self) -> None:
        """Pass messages of ended sessions to other sessions that have the same shared subscription.

        These messages are loaded from disk. The end of a session and the transfer of its messages
        are recorded in the same batch.
        """
        for request in self.broker.effects.take_hand_overs():
            contents, deliveries, _ = self.store.load_page(
                request.session, request.first_position, request.count, request.contents
            )
            self.broker.handed_over(request, contents, deliveries, self._loop.time())

    def _begin(self, now: float) -> None:
        self.is_busy = True
        self.quiet.clear()
        self._started_at = now

    def _end(self) -> None:
        self.is_busy = False
        self.quiet.set()

    def _commit_on_thread(self, batch: SealedBatch) -> None:
        future = self._loop.run_in_executor(self._thread, self._fsync_commit)
        future.add_done_callback(lambda done: self._committed(done, batch))

    def _fsync_commit(self) -> float:
        seconds = self.store.fsync_commit()
        self.store.note_end(if_overdue=True)
        return seconds

    def _commit_here(self, batch: SealedBatch) -> None:
        """Commit a batch on the event loop's thread: starting a thread would take longer."""
        try:
            seconds = self.store.fsync_commit()
        except NoRoom as error:
            self._begin(self._loop.time())
            self._wait_for_room(error, batch)
            return
        except OSError as error:
            self._outcomes.failed(error)
            return
        self._durable(batch, seconds)

    def note_end(self) -> None:
        """Record the journal's end. If a commit is running, the end is recorded after it.

        Call this method when clients have their acknowledgements, which must not wait for it.
        """
        if not (self.is_busy or self.is_stopped):
            try:
                self.store.note_end()
            except OSError as error:
                self._outcomes.failed(error)

    def _committed(self, done: "asyncio.Future[float]", batch: SealedBatch) -> None:
        error = done.exception()
        if isinstance(error, NoRoom):
            self._wait_for_room(error, batch)
            return
        self._end()
        if error is not None:
            self._outcomes.failed(error)
            return
        self._durable(batch, done.result())

    def _durable(self, batch: SealedBatch, seconds: float) -> None:
        """Release the packets of a durable batch, and record how long its commit took."""
        assert batch.blob is not None
        self._commit_seconds += (seconds - self._commit_seconds) / QUICK_COMMITS
        self.metrics.add(seconds, len(batch.blob))
        self.recent.add(batch.blob)
        self._release(batch)

    def _release(self, batch: SealedBatch) -> None:
        """Allow the packets of a batch to be sent, because it is durable or has no records."""
        self.broker.committed(batch)
        self.checkpoints.commit_rows()
        self._outcomes.released()

    def _wait_for_room(self, error: NoRoom, batch: SealedBatch) -> None:
        """Keep a batch for which there is no disk space or file descriptor, and try again later.

        If the process is about to end, discard the batch instead. Nothing that was acknowledged is
        lost, because the batch's packets have not been sent.
        """
        if self.is_last:
            self.is_unwritten = self.is_stopped = True
            logger.error(
                "the last batch cannot be written: %s; none of it has been acknowledged", error
            )
            self._end()
            return
        self._waiting = batch
        self._lacks_descriptor = descriptors.ran_out(error)
        if self._lacks_descriptor:
            self._report_descriptor(error)
        self._outcomes.full()
        self._loop.call_later(NO_ROOM_SECONDS, self._write_again)

    def _report_descriptor(self, error: NoRoom) -> None:
        now = self._loop.time()
        if now >= self._next_line_at:
            self._next_line_at = now + SECONDS_BETWEEN_LINES
            logger.error(
                "the journal waits because no file can be opened: %s; nothing is acknowledged "
                "until one can. Raise the limit of open files (LimitNOFILE)",
                error.strerror,
            )

    def _write_again(self) -> None:
        if self._waiting is None or self.is_stopped:
            return
        batch = self._waiting
        try:
            # Removing exported data, or data that the disk budget gives up, makes space.
            self.journal_room.drop()
        except OSError as error:
            self._outcomes.failed(error)
            return
        self._waiting = None
        self._started_at = self._loop.time()
        self._commit_on_thread(batch)

    def write_last(self) -> None:
        """Try once more to write a batch that is waiting for disk space, before the process ends.

        If there is still not enough space, the batch is discarded.
        """
        self.is_last = True
        if self._waiting is not None:
            self._write_again()

    def close(self) -> None:
        """Stop all writing, and end the thread that writes batches."""
        self.is_stopped = True
        self._thread.shutdown()
