"""The store's one interface: open, commit a batch, take part in checkpoints, load pages.

Everything but `fsync_commit` and `finish_checkpoint` runs on the caller's thread, in bounded
slices. While a commit is in flight on its thread nobody else may touch the writing connection or
the journal.
"""

import os
import secrets
import sqlite3
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from gateway.core.changes import Changes
from gateway.core.records.kinds import StartKind
from gateway.core.sessions.message import Delivery, Message
from gateway.core.sessions.session import Session
from gateway.files.disk_errors import is_full
from gateway.files.durable import fsync_folder
from gateway.files.private import open_private
from gateway.files.salvage import lengthen_emptied
from gateway.store import database, formats, migration
from gateway.store.checkpoint import Checkpoint
from gateway.store.journal import FILE_BYTES, Journal
from gateway.store.journal_files import journal_files, sequence_of
from gateway.store.no_room import lacks_room, rows_lack_room
from gateway.store.pages import load_page
from gateway.store.recovery import PASSED_OVER, Recovered, load_contents, recover
from gateway.store.unsynced import Unsynced

CHECKPOINT_STEP_SECONDS = 0.004
"""How long checkpoint rows may be written before the event loop gets its turn."""

CHECKPOINT_STEP_AMID_TRAFFIC_SECONDS = 0.001
"""The same where clients wait for the batch: it is not the last one, and each takes some rows."""

CHECKPOINT_BYTES = 8 * 1024 * 1024
"""Journal bytes that call for a checkpoint at once: they are what a restart has to replay."""

REPLAY_BYTES_MAX = 4 * CHECKPOINT_BYTES
"""Journal bytes behind which a start writes a whole checkpoint before anybody is served: lives too
short for one would leave each other a longer and longer replay."""

CHECKPOINT_CHANGES = 2_000
"""Touched keys that call for a checkpoint once `checkpoint_interval` has passed."""

CHECKPOINT_IDLE_SECONDS = 60.0
"""A small change waits this long: fewer pages are written, and a restart replays little."""

MESSAGES_SKIPPED_AFTER_SALVAGE = 1_000_000
"""Message numbers left out after damage: blobs that were lost may have used some."""

SESSIONS_SKIPPED_AFTER_SALVAGE = 1_000_000
"""Session numbers left out where the journal's end cannot be read: a session takes more than 14
bytes there, and a number has 32 bits."""


@dataclass
class Opened:
    """What a start found, for the log, the status page and the session log."""

    recovered: Recovered
    recovery: StartKind
    store: bytes
    damage: list[str] = field(default_factory=list)


class Store:
    """The broker's database."""

    def __init__(self, data_dir: Path, journal_file_bytes: int = FILE_BYTES) -> None:
        self.data_dir = data_dir
        self.path = data_dir / database.DATABASE_NAME
        self._lock = database.lock(data_dir)
        self._running = data_dir / database.RUNNING_NAME
        self.journal = Journal(data_dir, journal_file_bytes)
        self._pending: tuple[int, bytes] | None = None
        """First sequence and blob of the batch that was begun."""
        self._writer: sqlite3.Connection
        self._reader: sqlite3.Connection
        self._copier: sqlite3.Connection
        self._wal: IO[bytes]
        self.wal_room_bytes = 0
        """What the WAL is given at a start: see `_make_wal_room`."""
        self._unsynced: Unsynced
        self._checkpoint: Checkpoint | None = None
        self._has_rows = False
        """The batch that was begun has rows of it. One may be begun while a commit is under way."""
        self._rows_wait = False
        self.written_to = 1
        """The first sequence that the tables do not cover: rows are written, durable or not."""
        self._sweep = False
        self._checkpointed_at = 0.0
        self._covered = 1
        """The same, durably: what the journal has before it may go."""
        self.exported_sequence = 0
        self.journal_bytes = 0
        """Bytes of blobs since the last checkpoint began, those of earlier lives too."""

    # -- opening

    def open(self, logged_filters: list[str], now: float) -> Opened:
        """Open the database, repairing what can be repaired, and rebuild the state.

        On a full disk the journal's reserve is given up for it: what is there can be delivered.

        Raises:
            StoreUnavailable: the disk is full, read-only or the like, or a later version was here;
                nothing was changed.
        """
        try:
            try:
                return self._open(logged_filters, now)
            except (sqlite3.Error, OSError) as error:
                if not (lacks_room(error) and self.journal.give_up_reserve()):
                    raise
                self._close_files()
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
        formats.refuse_newer_database(self.path)
        journal_files(self.journal.folder)  # refuses what a later version wrote
        unclean = self._running.exists()
        damage: list[str] = []
        if database.finish_salvage(self.path):
            damage.append("a salvage that had been cut short was finished")
        is_new = not self.path.exists()
        if not is_new:
            emptied = lengthen_emptied(self.path)
            database.rewrite_wal(self.path)
            found = database.damage_of(self.path, thorough=unclean or emptied)
            if found is not None or emptied:
                damage.append(self._replace(found or "a file of zero bytes beside its WAL"))
        try:
            recovered, store = self._load(logged_filters, now)
        except (sqlite3.DatabaseError, ValueError, TypeError, KeyError) as error:
            # What the look at the start did not find: damage elsewhere, or rows no broker wrote.
            database.refuse_if_unavailable(self.path, error)
            damage.append(self._replace(f"it cannot be loaded: {error}"))
            recovered, store = self._load(logged_filters, now)
        if is_new and recovered.journal.end is not None:
            damage.append(f"{self.path.name} was missing beside its journal")
        damage.extend(recovered.damage)
        if damage:
            recovered.state.next_message_number += MESSAGES_SKIPPED_AFTER_SALVAGE
            self._go_on_without(recovered)
        self.journal.resume(recovered.journal)
        for blob in recovered.unsynced:
            self.journal.append(sequence_of(blob), blob)
        # Each of many short lives would replay what those before it did, and more.
        self.journal_bytes = recovered.replayed_bytes
        self._unsynced = Unsynced(self.journal.folder, recovered.previous_boot)
        self._reader = database.connect_read_only(self.path)
        self._copier = database.connect(self.path)
        self._wal = self.path.with_name(self.path.name + "-wal").open("rb")
        # The id of a new store, before a blob says it; and what is gone on without.
        os.fsync(self._wal.fileno())
        self._make_wal_room()
        self._sweep = unclean or bool(damage)
        self._checkpointed_at = now
        self._covered = self.written_to = recovered.covered
        os.close(open_private(self._running, os.O_WRONLY | os.O_CREAT))
        fsync_folder(self.data_dir)
        if recovered.replayed_bytes >= REPLAY_BYTES_MAX:
            self._write_checkpoint(recovered, now)
        if damage:
            recovery = StartKind.SALVAGED
        elif is_new:
            recovery = StartKind.NEW
        else:
            recovery = StartKind.UNCLEAN if unclean else StartKind.CLEAN
        return Opened(recovered, recovery, store, damage)

    def _write_checkpoint(self, recovered: Recovered, now: float) -> None:
        """Write all of a checkpoint, unless the disk is too full for it: then it waits."""
        self.begin_checkpoint(recovered, recovered.next_sequence, now)
        while self.checkpointing:
            self.begin(recovered.next_sequence, None)
            self.step_checkpoint()
            self.fsync_commit()
        if not self.checkpoint_lacks_room:
            self.checkpoint_finished(self.finish_checkpoint())

    def _close_files(self) -> None:
        """Let go of what an attempt to open has opened."""
        for name in ("_reader", "_copier", "_writer", "_wal"):
            opened = self.__dict__.pop(name, None)
            if opened is not None:
                opened.close()
        self.journal.close()

    def _make_wal_room(self) -> None:
        """Let the WAL have blocks for checkpoints on a full disk, while nobody writes to it.

        SQLite takes zeros behind its frames for no frames, and never makes the file shorter before
        the database is closed.
        """
        try:
            with self.path.with_name(self.path.name + "-wal").open("r+b") as wal:
                if os.fstat(wal.fileno()).st_size < self.wal_room_bytes:
                    os.posix_fallocate(wal.fileno(), 0, self.wal_room_bytes)
        except OSError as error:
            if not is_full(error):
                raise

    def _load(self, logged_filters: list[str], now: float) -> tuple[Recovered, bytes]:
        """Connect, and read everything that a start reads; return the state and the store's id."""
        self._writer = database.connect(self.path)
        try:
            database.empty_wal(self._writer)
            told = migration.migrate(self._writer, self.data_dir)
            recovered = recover(
                self._writer, self.data_dir, logged_filters, now, with_unsynced=True
            )
            recovered.damage.extend(told)
            return recovered, self._store_id()
        except BaseException:
            self._writer.close()
            raise

    def _replace(self, found: str) -> str:
        """Set the damaged file aside, salvage its rows, and return the sentence that says so."""
        # Saved first, then set aside, then replaced: a cut in between loses nothing.
        salvaged = self.path.with_name(database.SALVAGED_NAME)
        salvaged.unlink(missing_ok=True)
        connection = database.connect(salvaged)
        database.migrate(connection)
        saved = database.salvage(self.path, connection)
        connection.close()
        kept = database.set_aside(self.path)
        database.finish_salvage(self.path)
        rows = ", ".join(f"{count} {table}" for table, count in saved.items() if count)
        return (
            f"database damaged ({found}); kept as "
            f"{kept.parent.relative_to(self.data_dir)}, salvaged: {rows or 'nothing'}"
        )

    def _go_on_without(self, recovered: Recovered) -> None:
        """Note what cannot be read: it is never applied behind what is recorded from now on.

        Where that is the journal's end, no number that it may have used is given again: an event
        there takes a byte at least.
        """
        journal = recovered.journal
        if journal.unread_end_bytes:
            first = recovered.next_sequence
            recovered.next_sequence += journal.unread_end_bytes
            recovered.passed_over.append((first, recovered.next_sequence - 1))
            recovered.state.next_session_number += SESSIONS_SKIPPED_AFTER_SALVAGE
        if recovered.passed_over:
            text = " ".join(f"{first}-{last}" for first, last in recovered.passed_over)
            self._writer.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (PASSED_OVER, text))
        for path in journal.unplaced:
            database.set_file_aside(path, self.data_dir)

    def _store_id(self) -> bytes:
        row = self._writer.execute("SELECT value FROM meta WHERE key = 'store'").fetchone()
        if row is not None:
            return bytes.fromhex(row[0])
        store = secrets.token_bytes(8)
        self._writer.execute("INSERT INTO meta VALUES ('store', ?)", (store.hex(),))
        return store

    # -- a batch: `begin`, then `fsync_commit` on the commit thread

    def begin(self, first_sequence: int, blob: bytes | None) -> None:
        """Take the batch's blob, and open a transaction if a checkpoint is on its way."""
        if blob is not None:
            self._pending = (first_sequence, blob)
            self.journal_bytes += len(blob)
        self._has_rows = self._checkpoint is not None and not self._rows_wait
        if self._has_rows:
            self._writer.execute("BEGIN IMMEDIATE")

    def write_ahead(self) -> None:
        """Write the batch that was begun, so that a killed process has not lost it, and leave it to
        `fsync_commit` to make it durable.

        What this cannot do (another file has to be begun, the disk is full) `fsync_commit` does.
        """
        if self._pending is not None:
            self.journal.write_ahead(self._pending[1])

    def has_room_ahead(self, blob_bytes: int) -> bool:
        """Return whether `write_ahead` can write a blob of this size."""
        return self.journal.has_room(blob_bytes)

    def write_unsynced(self, batch_number: int, part: bytes) -> None:
        """Write a part of the batch that is being collected, also while another is committed.

        Raises:
            OSError: the disk fails. One that is full is none: see `Unsynced.write`.
        """
        self._unsynced.write(batch_number, part)

    def fsync_commit(self) -> float:
        """Make the batch durable; blocks on the disk. Returns how many seconds that took.

        Rows may never be newer than the journal: they are committed when the blob is durable.

        Raises:
            NoRoom: the disk is full. The batch is still the one that was begun: call again.
            OSError, sqlite3.Error: nobody knows what is on the disk; the process has to end.
        """
        began = time.monotonic()
        if self._pending is not None:
            self.journal.append(*self._pending)
            self._pending = None
        if self._checkpoint is not None and self._has_rows:
            self._commit_rows(self._checkpoint)
        return time.monotonic() - began

    def _commit_rows(self, checkpoint: Checkpoint) -> None:
        """Commit what the last step wrote; on a full disk it is written again when asked for."""
        if not checkpoint.lacks_room:
            try:
                self._writer.execute("COMMIT")
            except sqlite3.OperationalError as error:
                if not rows_lack_room(error):
                    raise
                checkpoint.lacks_room = True
        if checkpoint.lacks_room:
            if self._writer.in_transaction:
                self._writer.execute("ROLLBACK")
            self._rows_wait = True
            return
        checkpoint.committed()
        if checkpoint.is_finished:
            self._checkpoint = None
            self.written_to = checkpoint.next_sequence

    # -- checkpoints

    def wants_checkpoint(self, changes: Changes, interval_seconds: float, now: float) -> bool:
        """Return whether it is time to begin a checkpoint."""
        if self._checkpoint is not None or self._covered < self.written_to:
            return False
        if self.journal_bytes >= CHECKPOINT_BYTES:
            return True
        since = now - self._checkpointed_at
        if since < interval_seconds:
            return False
        count = changes.count()
        return count >= CHECKPOINT_CHANGES or (count > 0 and since >= CHECKPOINT_IDLE_SECONDS)

    @property
    def checkpointing(self) -> bool:
        """Whether a checkpoint is on its way and has rows to write."""
        return self._checkpoint is not None and not self._rows_wait

    @property
    def checkpoint_lacks_room(self) -> bool:
        """Whether the disk was too full for a checkpoint's rows: it waits for `resume_checkpoint`.

        The journal goes on without it, and none of it goes meanwhile.
        """
        return self._checkpoint is not None and self._rows_wait

    def resume_checkpoint(self) -> None:
        """Try again to write the rows for which there was no room."""
        self._rows_wait = False

    def begin_checkpoint(self, recovered: Recovered, next_sequence: int, now: float) -> None:
        """Freeze the net change up to `next_sequence`; its rows are written by steps."""
        sweep_from = 0 if self._sweep else None
        self._sweep = False
        assert self._checkpoint is None, "its rows would be lost, and the journal behind them go"
        self._rows_wait = False
        self._checkpoint = Checkpoint(self._writer, recovered.state, next_sequence, sweep_from)
        self._checkpointed_at = now
        self.journal_bytes = 0

    def step_checkpoint(self, *, amid_traffic: bool = False) -> set[Session] | None:
        """Write rows into the open transaction for a few milliseconds.

        Returns:
            The sessions it touched once its last row is written, else None. The commit that follows
            ends the transaction, unless it lacks room: `checkpointing` tells afterwards. Then
            `finish_checkpoint` makes it durable.
        """
        checkpoint = self._checkpoint
        if checkpoint is None or not self.checkpointing:
            return None
        deadline = time.monotonic() + (
            CHECKPOINT_STEP_AMID_TRAFFIC_SECONDS if amid_traffic else CHECKPOINT_STEP_SECONDS
        )
        if checkpoint.lacks_room:
            checkpoint.write_again()
        while not (checkpoint.lacks_room or checkpoint.is_finished or checkpoint.step()):
            if time.monotonic() >= deadline:
                return None
        return None if checkpoint.lacks_room else checkpoint.changes.sessions

    def finish_checkpoint(self) -> int:
        """Make committed rows durable and copy them into the database file; blocks on the disk.

        On a thread and connection of its own: nobody waits for it. No other checkpoint begins
        until it has returned.

        Returns:
            The first sequence that the tables do not cover, for `checkpoint_finished`.
        """
        covered = self.written_to
        os.fsync(self._wal.fileno())
        try:
            self._copier.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.OperationalError as error:
            if not rows_lack_room(error):
                raise
            # The WAL has the rows, which is enough; the next checkpoint copies them as well.
        return covered

    def checkpoint_finished(self, covered: int) -> None:
        """The tables cover the journal up to `covered`, whatever happens."""
        self._covered = max(self._covered, covered)

    # -- what the journal need not keep

    @property
    def journal_total_bytes(self) -> int:
        """Bytes of the journal that are kept."""
        return self.journal.total_bytes

    def droppable_files(self) -> list[tuple[Path, int, int, int]]:
        """Return path, bytes, first and last event of files that only the session log wants."""
        return self.journal.droppable(self._covered)

    def has_droppable(self) -> bool:
        """Return whether `drop_exported` would drop anything."""
        return self.journal.has_droppable(self._exported_and_covered())

    def drop_exported(self) -> bool:
        """Drop what is both in the tables and exported; return whether anything was."""
        return self.journal.drop(self._exported_and_covered()) is not None

    def _exported_and_covered(self) -> int:
        return min(self._covered, self.exported_sequence + 1)

    def truncate_journal(self, bytes_max: int) -> tuple[int, int] | None:
        """Drop the oldest files, exported or not, that the tables cover, beyond `bytes_max`.

        Returns:
            First and last sequence number that the session log will lack, or None.
        """
        dropped = self.journal.drop(self._covered, bytes_max)
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
        """Read messages in flight by number, and positions of a queue: see `pages`."""
        messages = load_contents(self._reader, contents)
        end = first_position + count
        page = load_page(self._reader, session, first_position, end, payload_bytes_max)
        return messages, *page

    # -- closing

    def close(self, *, clean: bool) -> None:
        """Close the connections; `clean` says that everything was committed."""
        self._reader.close()
        self._copier.close()
        self._writer.close()
        self._wal.close()
        self.journal.close()
        self._unsynced.close()
        if clean:
            self._running.unlink(missing_ok=True)
            fsync_folder(self.data_dir)
        self._lock.close()
