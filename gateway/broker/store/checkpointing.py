"""Scheduling of checkpoints: start, steps next to the commits, and the covered part of the journal.

Steps run on the caller's thread, together with batches. Blocking work has its own thread: the
COMMIT of rows, for which no batch waits, and `finish`, which also has its own connection.
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
"""How long checkpoint rows are written with one batch at a start and at the end."""

CHECKPOINT_STEP_SERVING_SECONDS = 0.0005
"""The same while clients are served: a message that arrives meanwhile waits for the step, even if
no client waits for the batch."""

CHECKPOINT_BYTES = 8 * 1024 * 1024
"""Journal bytes that start a checkpoint immediately: a restart has to replay them."""

REPLAY_BYTES_MAX = 4 * CHECKPOINT_BYTES
"""From this many journal bytes on, a start writes a whole checkpoint before it serves any client:
runs too short for a checkpoint would otherwise make the replay longer and longer."""

CHECKPOINT_CHANGES = 2_000
"""Changed keys that start a checkpoint once `checkpoint_interval` has passed."""

CHECKPOINT_IDLE_SECONDS = 60.0
"""A small change waits this long: fewer pages are written, and a restart replays little."""


class CheckpointSchedule:
    """At most one checkpoint in progress."""

    def __init__(self, files: Files, covered: int, now: float, *, sweep: bool) -> None:
        """Set the files and the start.

        `sweep`: the first checkpoint deletes unreferenced messages.
        """
        self._writer = files.writer
        self._copier = files.copier
        self._wal = files.wal
        self._sweep = sweep
        self._checkpoint: Checkpoint | None = None
        self._has_rows = False
        """A transaction with its rows is open or being committed."""
        self._takes_rows = False
        """The transaction was opened with the latest batch, so steps write into it."""
        self._rows_wait = False
        self._begun_at = now
        self.written_to = covered
        """First sequence number that the tables do not cover; the rows are written, but may not be
        durable."""
        self.covered = covered
        """The same for durable rows: the journal may drop what comes before it."""
        self.journal_bytes = 0
        """Bytes of blobs since the last checkpoint began, including those of earlier runs."""

    def is_wanted(self, changes: Changes, interval_seconds: float, now: float) -> bool:
        """Return True if a checkpoint should begin."""
        if self._checkpoint is not None or self.covered < self.written_to:
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
        """True if a checkpoint has rows to write, and none are being committed."""
        return self._checkpoint is not None and not self._rows_wait and not self._has_rows

    @property
    def lacks_room(self) -> bool:
        """True if the disk was too full for a checkpoint's rows, so that it waits for `resume`.

        Meanwhile the journal grows, and none of it is dropped.
        """
        return self._checkpoint is not None and self._rows_wait

    def resume(self) -> None:
        """Retry the rows for which there was no space."""
        self._rows_wait = False

    def begin(self, state: State, next_sequence: int, now: float) -> None:
        """Freeze the net change up to `next_sequence`. Steps write its rows."""
        sweep_from = 0 if self._sweep else None
        self._sweep = False
        assert self._checkpoint is None, (
            "its rows would be lost, and the journal after them dropped"
        )
        self._rows_wait = False
        self._checkpoint = Checkpoint(self._writer, state, next_sequence, sweep_from)
        self._begun_at = now
        self.journal_bytes = 0

    # -- `begin_rows` and `step` with a batch; once that is durable, `commit_rows` on a thread, and
    # `rows_committed`

    def begin_rows(self) -> None:
        """Open a transaction for rows, if a checkpoint needs one."""
        self._takes_rows = self.wants_rows
        if self._takes_rows:
            self._has_rows = True
            self._writer.execute("BEGIN IMMEDIATE")

    def step(self, *, serving: bool = False) -> None:
        """Write rows into this batch's transaction for a few milliseconds, if it has one."""
        checkpoint = self._checkpoint
        if checkpoint is None or not self._takes_rows:
            return
        deadline = time.monotonic() + (
            CHECKPOINT_STEP_SERVING_SECONDS if serving else CHECKPOINT_STEP_SECONDS
        )
        if checkpoint.lacks_room:
            checkpoint.write_again()
        while not (checkpoint.lacks_room or checkpoint.is_finished or checkpoint.step()):
            if time.monotonic() >= deadline:
                return

    @property
    def has_rows(self) -> bool:
        """True if there are rows to commit, or being committed."""
        return self._has_rows

    def commit_rows(self) -> None:
        """Commit the written rows; on a full disk roll them back. Blocks.

        Runs in a thread. Meanwhile `begin_rows` and `step` do nothing. The batch that came with the
        rows must be durable, because rows may not be newer than the journal.

        Raises:
            sqlite3.Error: the state on disk is uncertain, so the process has to end.
        """
        checkpoint = self._checkpoint
        assert checkpoint is not None
        if not checkpoint.lacks_room:
            try:
                self._writer.execute("COMMIT")
            except sqlite3.OperationalError as error:
                if not rows_lack_room(error):
                    raise
                checkpoint.lacks_room = True
        if checkpoint.lacks_room and self._writer.in_transaction:
            self._writer.execute("ROLLBACK")

    def rows_committed(self) -> set[Session] | None:
        """Process the result of `commit_rows`. If there was no space, the rows wait for `resume`.

        Returns:
            The sessions changed by the checkpoint, if its last row is committed: call `finish` to
            make it durable. None: there are more rows.
        """
        checkpoint = self._checkpoint
        assert checkpoint is not None
        self._has_rows = self._takes_rows = False
        if checkpoint.lacks_room:
            self._rows_wait = True
            return None
        checkpoint.committed()
        if not checkpoint.is_finished:
            return None
        self._checkpoint = None
        self.written_to = checkpoint.next_sequence
        return checkpoint.changes.sessions

    # after the last row

    def finish(self) -> int:
        """Sync the committed rows and copy them to the database file. Blocks.

        Runs in its own thread with its own connection, and no client waits for it. The next
        checkpoint starts only after it has returned.

        Returns:
            The first sequence number that the tables do not cover, for `finished`.
        """
        covered = self.written_to
        os.fsync(self._wal.fileno())
        try:
            self._copier.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.OperationalError as error:
            if not rows_lack_room(error):
                raise
            # The rows are in the WAL, which is enough; the next checkpoint copies them as well.
        return covered

    def finished(self, covered: int) -> None:
        """Record that the tables durably cover the journal up to `covered`."""
        self.covered = max(self.covered, covered)
