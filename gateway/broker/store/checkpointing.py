"""Schedules checkpoints: decides when a checkpoint begins, and when its steps run.

Steps run on the caller's thread, together with batches. The calls `commit_rows` and `finish` block,
so they run in separate threads. No batch waits for `commit_rows`. `finish` also uses a separate
database connection.
"""

import os
import sqlite3
import time

from gateway.broker.core.changes import Changes
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.state import State
from gateway.broker.store.checkpoint import Checkpoint
from gateway.broker.store.no_room import rows_lack_room
from gateway.broker.store.opening import Files

CHECKPOINT_STEP_SECONDS = 0.004
"""Time limit for writing checkpoint rows with one batch during startup and shutdown, in seconds."""

CHECKPOINT_STEP_SERVING_SECONDS = 0.0005
"""Time limit for a step while clients are served, in seconds. A message that arrives during a step
waits until the step ends, even if no client waits for the batch."""

CHECKPOINT_BYTES = 8 * 1024 * 1024
"""Journal bytes that start a checkpoint immediately, because a restart has to replay them."""

REPLAY_BYTES_MAX = 4 * CHECKPOINT_BYTES
"""Replayed journal bytes at which startup writes a complete checkpoint before clients are served.
Otherwise, in a series of runs too short for a checkpoint, each replay would be longer than the one
before."""

CHECKPOINT_CHANGES = 2_000
"""Number of changed keys that starts a checkpoint once `checkpoint_interval` has passed."""

CHECKPOINT_IDLE_SECONDS = 60.0
"""Seconds after which even fewer changes start a checkpoint. Waiting saves writes to the disk, but
a replay must stay short."""


class CheckpointSchedule:
    """Scheduler of checkpoints and their steps. Only one checkpoint runs at a time."""

    def __init__(self, files: Files, first_uncovered: int, now: float, *, sweep: bool) -> None:
        """Prepare the schedule for a store that has just been opened.

        Args:
            files: open files of the store.
            first_uncovered: first sequence number whose changes are not in the tables.
            now: current time on the monotonic clock, in seconds.
            sweep: True if the first checkpoint must delete messages that no row refers to.
        """
        self._writer = files.writer
        self._copier = files.copier
        self._wal = files.wal
        self._sweep = sweep
        self._checkpoint: Checkpoint | None = None
        self._has_rows = False
        """True while a transaction with checkpoint rows is open or is being committed."""
        self._takes_rows = False
        """True if a transaction was opened with the latest batch. Steps then write into it."""
        self._rows_wait = False
        self._begun_at = now
        self.first_unwritten = first_uncovered
        """First sequence number for which no rows are written. Rows for earlier numbers may not be
        durable yet."""
        self.first_uncovered = first_uncovered
        """First sequence number for which no rows are durable. The journal may drop earlier
        events."""
        self.journal_bytes = 0
        """Bytes of blobs since the last checkpoint began, including blobs of earlier runs."""

    def is_wanted(self, changes: Changes, interval_seconds: float, now: float) -> bool:
        """Return True if a new checkpoint is due.

        This depends on the number and age of the changes, and on the size of the journal.
        """
        if self._checkpoint is not None or self.first_uncovered < self.first_unwritten:
            return False
        if self.journal_bytes >= CHECKPOINT_BYTES:
            return True
        since = now - self._begun_at
        if since < interval_seconds:
            return False
        count = changes.count()
        return count >= CHECKPOINT_CHANGES or (count > 0 and since >= CHECKPOINT_IDLE_SECONDS)

    @property
    def wants_rows(self) -> bool:
        """True if the current checkpoint can write more rows now.

        Rows cannot be written while earlier rows are being committed or while the disk is too full.
        """
        return self._checkpoint is not None and not self._rows_wait and not self._has_rows

    @property
    def lacks_room(self) -> bool:
        """True if a checkpoint is waiting for `resume`, because its rows did not fit on the disk.

        While the checkpoint is waiting, the journal grows and none of its files can be deleted.
        """
        return self._checkpoint is not None and self._rows_wait

    def resume(self) -> None:
        """Allow the checkpoint to retry the rows for which the disk had no space."""
        self._rows_wait = False

    def begin(self, state: State, next_sequence: int, now: float) -> None:
        """Begin a checkpoint of all changes before sequence number `next_sequence`."""
        sweep_from = 0 if self._sweep else None
        self._sweep = False
        assert self._checkpoint is None, (
            "its rows would be lost, and the journal after them dropped"
        )
        self._rows_wait = False
        self._checkpoint = Checkpoint(self._writer, state, next_sequence, sweep_from)
        self._begun_at = now
        self.journal_bytes = 0

    # -- `begin_rows` and `step` with a batch; once the batch is durable, `commit_rows` on a thread,
    # then `rows_committed`

    def begin_rows(self) -> None:
        """If a checkpoint has rows to write, open a transaction for them."""
        self._takes_rows = self.wants_rows
        if self._takes_rows:
            self._has_rows = True
            self._writer.execute("BEGIN IMMEDIATE")

    def step(self, *, serving: bool = False) -> None:
        """Write checkpoint rows into the open transaction until the step's time limit is reached.

        Do nothing if no transaction was opened with the current batch. If the argument `serving` is
        True, clients are connected, and a shorter time limit applies.
        """
        checkpoint = self._checkpoint
        if checkpoint is None or not self._takes_rows:
            return
        deadline = time.monotonic() + (
            CHECKPOINT_STEP_SERVING_SECONDS if serving else CHECKPOINT_STEP_SECONDS
        )
        if checkpoint.rows.lacks_room:
            checkpoint.rows.write_again()
        while not (checkpoint.rows.lacks_room or checkpoint.is_finished or checkpoint.step()):
            if time.monotonic() >= deadline:
                return

    @property
    def has_rows(self) -> bool:
        """True while written rows are waiting to be committed or are being committed."""
        return self._has_rows

    def commit_rows(self) -> None:
        """Commit the written rows, or roll them back if the disk is full.

        This call blocks, so it runs in its own thread. `begin_rows` and `step` do nothing until
        `rows_committed` has been called. The batch that was prepared together with the rows must be
        durable first, because rows must not be newer than the journal.

        Raises:
            sqlite3.Error: if the state on disk is uncertain. The process must then exit.
        """
        checkpoint = self._checkpoint
        assert checkpoint is not None
        if not checkpoint.rows.lacks_room:
            try:
                self._writer.execute("COMMIT")
            except sqlite3.OperationalError as error:
                if not rows_lack_room(error):
                    raise
                checkpoint.rows.lacks_room = True
        if checkpoint.rows.lacks_room and self._writer.in_transaction:
            self._writer.execute("ROLLBACK")

    def rows_committed(self) -> set[Session] | None:
        """Process the result of `commit_rows`. If the disk was full, the rows wait for `resume`.

        Returns:
            The sessions that the checkpoint changed, or None if more rows remain. If no rows
            remain, the caller must call `finish` to make the rows durable.
        """
        checkpoint = self._checkpoint
        assert checkpoint is not None
        self._has_rows = self._takes_rows = False
        if checkpoint.rows.lacks_room:
            self._rows_wait = True
            return None
        checkpoint.rows.committed()
        if not checkpoint.is_finished:
            return None
        self._checkpoint = None
        self.first_unwritten = checkpoint.next_sequence
        return checkpoint.changes.sessions

    # after the last row

    def finish(self) -> int:
        """Sync the committed rows and copy them to the database file.

        This call blocks, so it runs in its own thread with its own connection. No client waits for
        it. The next checkpoint begins only after `finish` has returned.

        Returns:
            The first sequence number that the tables do not cover. Pass it to `finished`.
        """
        first_uncovered = self.first_unwritten
        os.fsync(self._wal.fileno())
        try:
            self._copier.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.OperationalError as error:
            if not rows_lack_room(error):
                raise
            # The rows are in the WAL, which is enough; the next checkpoint copies them as well.
        return first_uncovered

    def finished(self, first_uncovered: int) -> None:
        """Record that the tables durably contain all changes before `first_uncovered`."""
        self.first_uncovered = max(self.first_uncovered, first_uncovered)
