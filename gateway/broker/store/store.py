"""Opens the store, commits batches, runs checkpoints and loads queued messages.

All methods except `fsync_commit`, `commit_rows` and `finish_checkpoint` run on the caller's thread,
for a limited time. The caller must not use the journal while a batch is being committed, nor the
writing connection while rows are being committed.
"""

import os
import sqlite3
import time
from pathlib import Path

from gateway.broker.core.changes import Changes
from gateway.broker.core.sessions.message import Delivery, Message
from gateway.broker.core.sessions.session import Session
from gateway.broker.store import database, formats
from gateway.broker.store.checkpointing import REPLAY_BYTES_MAX, CheckpointSchedule
from gateway.broker.store.journal import FILE_BYTES, Journal
from gateway.broker.store.journal_end import EndRecord, JournalEnd
from gateway.broker.store.journal_files import count_of
from gateway.broker.store.no_room import lacks_room
from gateway.broker.store.opening import Files, Opened, StoreOpening
from gateway.broker.store.pages import load_contents, load_page
from gateway.broker.store.recovery import Recovered
from gateway.process.files.durable import fsync_folder
from gateway.process.files.private import open_private


class Store:
    """The broker's durable state: its database and journal in one data directory."""

    def __init__(self, data_dir: Path, journal_file_bytes: int = FILE_BYTES) -> None:
        self.data_dir = data_dir
        self.path = data_dir / database.DATABASE_NAME
        self._lock = database.lock(data_dir)
        self._running = data_dir / database.RUNNING_NAME
        self.journal = Journal(data_dir, journal_file_bytes)
        self.wal_room_bytes = 0
        """Bytes allocated to the WAL at startup, for checkpoints on a full disk."""
        self._files: Files
        self._checkpoints: CheckpointSchedule
        self._end_record = EndRecord(data_dir)
        self._pending: tuple[int, bytes, int] | None = None
        """First sequence number and blob of the current batch, and the next message number."""
        self._unnoted: tuple[int, int, int, int] | None = None
        """The journal's end after the newest commit, until `note_end` writes it to a file."""
        self.exported_sequence = 0

    # -- opening

    def open(self, logged_filters: list[str], now: float) -> Opened:
        """Open the database, repair it if necessary, and rebuild the broker's state.

        If the disk is full, the journal's reserve is deleted first, so that stored messages can be
        delivered.

        Raises StoreUnavailable if the disk is full, read-only or otherwise unusable, or the data is
        from another version. Nothing was changed.
        """
        try:
            try:
                return self._open(logged_filters, now)
            except (sqlite3.Error, OSError) as error:
                if not (lacks_room(error) and self.journal.spare_files.delete_reserve()):
                    raise
                return self._open(logged_filters, now)
        except (sqlite3.Error, database.StoreUnavailable) as error:
            self._lock.close()
            database.refuse_if_unavailable(self.path, error)
            raise
        except formats.OtherFormat as error:
            self._lock.close()
            raise database.StoreUnavailable(str(error)) from error
        except OSError as error:
            self._lock.close()
            where = error.filename or self.journal.folder
            raise database.StoreUnavailable(
                f"cannot use {where}: {error.strerror}; look at the disk (full? read-only? "
                "whose is it?), then start again"
            ) from error

    def _open(self, logged_filters: list[str], now: float) -> Opened:
        unclean = self._running.exists()
        opening = StoreOpening(self.data_dir, self.journal, self.wal_room_bytes)
        try:
            opened, self._files = opening.open(logged_filters, now, unclean=unclean)
            recovered = opened.recovered
            self._checkpoints = CheckpointSchedule(
                self._files, recovered.first_uncovered, now, sweep=unclean or bool(opened.damage)
            )
            # In a series of short runs, each would replay everything from the runs before it.
            self._checkpoints.journal_bytes = recovered.replayed_bytes
            os.close(open_private(self._running, os.O_WRONLY | os.O_CREAT))
            fsync_folder(self.data_dir)
            numbers = recovered.next_sequence, recovered.state.next_message_number
            end = JournalEnd(opened.store.hex(), *numbers, *self.journal.position)
            self._end_record.begin(end)
            if recovered.replayed_bytes >= REPLAY_BYTES_MAX:
                self._write_checkpoint(recovered, now)
        except (sqlite3.Error, OSError) as error:
            if lacks_room(error):
                opening.close()  # the caller retries
                self._end_record.close()
            raise
        return opened

    def _write_checkpoint(self, recovered: Recovered, now: float) -> None:
        """Write a complete checkpoint. If the disk is too full, the checkpoint is postponed."""
        self.begin_checkpoint(recovered, recovered.next_sequence, now)
        while self.checkpointing:
            self.begin(recovered.next_sequence, None)
            self.step_checkpoint()
            self.commit_rows()
            self.rows_committed()
        if not self.checkpoint_lacks_room:
            self.checkpoint_finished(self.finish_checkpoint())

    # -- a batch: `begin`, then `fsync_commit` on the commit thread

    def begin(self, first_sequence: int, blob: bytes | None, next_message: int = 0) -> None:
        """Prepare to commit a blob (if any), and open a transaction for due checkpoint rows."""
        if blob is not None:
            self._pending = (first_sequence, blob, next_message)
            self._checkpoints.journal_bytes += len(blob)
        self._checkpoints.begin_rows()

    def write_ahead(self) -> None:
        """Write the current batch without fsync, so that it is not lost if the process is killed.

        `fsync_commit` makes the batch durable later, possibly in another file.
        """
        if self._pending is not None:
            self.journal.write_ahead(self._pending[1])

    def has_room_ahead(self, blob_bytes: int) -> bool:
        """Return True if `write_ahead` can write a blob of this size in bytes."""
        return self.journal.has_room(blob_bytes)

    def write_unsynced(self, batch_number: int, part: bytes) -> None:
        """Write a part of the batch that is being collected. Another commit may still be running.

        Raises:
            OSError: the disk failed. A full disk raises no error (see `Unsynced.write`).
        """
        self._files.unsynced.write(batch_number, part)

    def fsync_commit(self) -> float:
        """Make the batch durable, and return the duration in seconds. This call blocks.

        Raises:
            NoRoom: if the disk is full. The batch is still pending, so call again.
            OSError: if the state on disk is uncertain. The process must then exit.
        """
        began = time.monotonic()
        if self._pending is not None:
            first_sequence, blob, next_message = self._pending
            self.journal.append(first_sequence, blob)
            self._pending = None
            next_sequence = first_sequence + count_of(blob)
            self._unnoted = (next_sequence, next_message, *self.journal.position)
        return time.monotonic() - began

    def note_end(self, *, if_overdue: bool = False) -> None:
        """Record the position of the journal's end in a separate file. Raises OSError on failure.

        With `if_overdue`, do so only if it must not wait until packets have been released.
        """
        end = self._unnoted
        if end is not None and (not if_overdue or self._end_record.is_overdue(file_number=end[2])):
            self._end_record.note(*end)
            self._unnoted = None

    # -- checkpoints: see `CheckpointSchedule`

    def wants_checkpoint(self, changes: Changes, interval_seconds: float, now: float) -> bool:
        """Return True if a new checkpoint is due. See `CheckpointSchedule.is_wanted`."""
        return self._checkpoints.is_wanted(changes, interval_seconds, now)

    @property
    def checkpointing(self) -> bool:
        """True if the current checkpoint can write more rows now."""
        return self._checkpoints.wants_rows

    @property
    def checkpoint_lacks_room(self) -> bool:
        """True if a checkpoint is waiting because its rows did not fit on the disk."""
        return self._checkpoints.lacks_room

    @property
    def first_unwritten(self) -> int:
        """First sequence number whose changes are not in the checkpoint rows yet."""
        return self._checkpoints.first_unwritten

    def resume_checkpoint(self) -> None:
        """Allow a waiting checkpoint to retry the rows for which the disk had no space."""
        self._checkpoints.resume()

    def begin_checkpoint(self, recovered: Recovered, next_sequence: int, now: float) -> None:
        """Begin a checkpoint of all changes before sequence number `next_sequence`."""
        self._checkpoints.begin(recovered.state, next_sequence, now)

    def step_checkpoint(self, *, serving: bool = False) -> None:
        """Write checkpoint rows for a few milliseconds, in the transaction opened by `begin`."""
        self._checkpoints.step(serving=serving)

    @property
    def has_rows(self) -> bool:
        """True while written rows are waiting to be committed or are being committed."""
        return self._checkpoints.has_rows

    def commit_rows(self) -> None:
        """Commit the checkpoint rows, whose batch must already be durable. This call blocks.

        Raises sqlite3.Error if the state on disk is uncertain. The process must then exit.
        """
        self._checkpoints.commit_rows()

    def rows_committed(self) -> set[Session] | None:
        """Process the result of `commit_rows`. See `CheckpointSchedule.rows_committed`."""
        return self._checkpoints.rows_committed()

    def finish_checkpoint(self) -> int:
        """Make the committed rows durable. This call blocks.

        Return the sequence number for `checkpoint_finished`."""
        self._end_record.fsync()
        return self._checkpoints.finish()

    def checkpoint_finished(self, first_uncovered: int) -> None:
        """Record that the tables durably contain all changes before `first_uncovered`."""
        self._checkpoints.finished(first_uncovered)

    # -- deletion of journal files

    @property
    def journal_total_bytes(self) -> int:
        """Size of the journal's stored events in bytes."""
        return self.journal.total_bytes

    def droppable_files(self) -> list[tuple[Path, int, int, int]]:
        """Return the path, size and sequence numbers of files whose events are in the tables."""
        return self.journal.droppable(self._checkpoints.first_uncovered)

    def has_droppable(self) -> bool:
        """Return True if `drop_exported` would delete any files."""
        return self.journal.has_droppable(self._exported_and_covered())

    def drop_exported(self) -> bool:
        """Delete exported files whose events are in the tables. Return True if any were deleted."""
        return self.journal.drop(self._exported_and_covered()) is not None

    def _exported_and_covered(self) -> int:
        return min(self._checkpoints.first_uncovered, self.exported_sequence + 1)

    def truncate_journal(self, bytes_max: int) -> tuple[int, int] | None:
        """Shrink the journal to `bytes_max` by deleting old files whose events are in the tables.

        If unexported events were deleted, return the first and last sequence number, else None.
        """
        dropped = self.journal.drop(self._checkpoints.first_uncovered, bytes_max)
        if dropped is None:
            return None
        first = max(dropped[0], self.exported_sequence + 1)
        return (first, dropped[1] - 1) if first < dropped[1] else None

    # -- pages

    def load_page(
        self,
        session: Session,
        first_position: int,
        count: int,
        contents: list[int],
        payload_bytes_max: int | None = None,
    ) -> tuple[dict[int, Message], list[Delivery], int]:
        """Load queued deliveries of a session, and the messages with the numbers in `contents`.

        Return the messages, the deliveries and the number of positions read from `first_position`
        on. This number is `count`, or less if the payloads reach `payload_bytes_max` bytes.
        """
        reader = self._files.reader
        messages = load_contents(reader, contents)
        end = first_position + count
        page = load_page(reader, session, first_position, end, payload_bytes_max)
        return messages, *page

    # -- closing

    def close(self, *, clean: bool) -> None:
        """Close the store. If the argument `clean` is True, record that no repair is needed."""
        self._files.close()
        self.journal.close()
        if clean:
            self.note_end()
            self._end_record.fsync()
        self._end_record.close()
        if clean:
            self._running.unlink(missing_ok=True)
            fsync_folder(self.data_dir)
        self._lock.close()
