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
from gateway.core.session import Delivery, Message, Session
from gateway.store import database
from gateway.store.checkpoint import Checkpoint
from gateway.store.journal import FILE_BYTES, Journal
from gateway.store.pages import load_page
from gateway.store.recovery import Recovered, load_contents, recover

CHECKPOINT_STEP_SECONDS = 0.004
"""How long checkpoint rows may be written before the event loop gets its turn."""

CHECKPOINT_STEP_AMID_TRAFFIC_SECONDS = 0.001
"""The same where clients wait for the batch: it is not the last one, and each takes some rows."""

CHECKPOINT_BYTES = 8 * 1024 * 1024
"""Journal bytes that call for a checkpoint at once: they are what a restart has to replay."""

CHECKPOINT_CHANGES = 2_000
"""Touched keys that call for a checkpoint once `checkpoint_interval` has passed."""

CHECKPOINT_IDLE_SECONDS = 60.0
"""A small change waits this long: fewer pages are written, and a restart replays little."""

MESSAGES_SKIPPED_AFTER_SALVAGE = 1_000_000
"""Message numbers left out after damage: blobs that were lost may have used some."""


@dataclass
class Opened:
    """What a start found, for the log, the status page and the session log."""

    recovered: Recovered
    recovery: str
    store: bytes
    damage: list[str] = field(default_factory=list)


class Store:
    """The broker's database."""

    def __init__(self, data_dir: Path, journal_file_bytes: int = FILE_BYTES) -> None:
        self.data_dir = data_dir
        self.path = data_dir / database.DATABASE_NAME
        self._lock: IO[str] = database.lock(data_dir)
        self._running = data_dir / database.RUNNING_NAME
        self.journal = Journal(data_dir, journal_file_bytes)
        self._pending: tuple[int, bytes] | None = None
        """First sequence and blob of the batch that was begun."""
        self._writer: sqlite3.Connection
        self._reader: sqlite3.Connection
        self._copier: sqlite3.Connection
        self._wal: IO[bytes]
        self._checkpoint: Checkpoint | None = None
        self.written_to = 1
        """The first sequence that the tables do not cover: rows are written, durable or not."""
        self._sweep = False
        self._checkpointed_at = 0.0
        self._covered = 1
        """The same, durably: what the journal has before it may go."""
        self.exported_sequence = 0
        self.journal_bytes = 0
        """Bytes of blobs since the last checkpoint began."""

    # -- opening

    def open(self, logged_filters: list[str], now: float) -> Opened:
        """Open the database, repairing what can be repaired, and rebuild the state.

        Raises:
            StoreUnavailable: the disk is full, read-only or the like; nothing was changed.
        """
        try:
            return self._open(logged_filters, now)
        except (sqlite3.Error, database.StoreUnavailable) as error:
            self._lock.close()
            database.refuse_if_unavailable(self.path, error)
            raise
        except OSError as error:
            self._lock.close()
            where = error.filename or self.journal.folder
            raise database.StoreUnavailable(
                f"cannot use {where}: {error.strerror}; look at the disk (full? read-only? "
                "whose is it?), then start again"
            ) from error

    def _open(self, logged_filters: list[str], now: float) -> Opened:
        unclean = self._running.exists()
        damage: list[str] = []
        if database.finish_salvage(self.path):
            damage.append("a salvage that had been cut short was finished")
        is_new = not self.path.exists()
        if not is_new:
            emptied = database.revive_emptied(self.path)
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
        self.journal.resume(recovered.journal)
        self._reader = database.connect_read_only(self.path)
        self._copier = database.connect(self.path)
        self._wal = self.path.with_name(self.path.name + "-wal").open("rb")
        # The id of a new store, before a blob says it.
        os.fsync(self._wal.fileno())
        self._sweep = unclean or bool(damage)
        self._checkpointed_at = now
        self._covered = self.written_to = recovered.covered
        self._running.touch()
        database.fsync_folder(self.data_dir)
        if damage:
            recovery = "salvaged"
        elif is_new:
            recovery = "new"
        else:
            recovery = "unclean" if unclean else "clean"
        return Opened(recovered, recovery, store, damage)

    def _load(self, logged_filters: list[str], now: float) -> tuple[Recovered, bytes]:
        """Connect, and read everything that a start reads; return the state and the store's id."""
        self._writer = database.connect(self.path)
        try:
            database.migrate(self._writer)
            recovered = recover(self._writer, self.data_dir, logged_filters, now)
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
        if self._checkpoint is not None:
            self._writer.execute("BEGIN IMMEDIATE")

    def fsync_commit(self) -> float:
        """Make the batch durable; blocks on the disk. Returns how many seconds that took.

        Rows may never be newer than the journal: they are committed when the blob is durable.
        """
        began = time.monotonic()
        if self._pending is not None:
            self.journal.append(*self._pending)
            self._pending = None
        if self._writer.in_transaction:
            self._writer.execute("COMMIT")
        return time.monotonic() - began

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
        """Whether a checkpoint is on its way."""
        return self._checkpoint is not None

    def begin_checkpoint(self, recovered: Recovered, next_sequence: int, now: float) -> None:
        """Freeze the net change up to `next_sequence`; its rows are written by steps."""
        sweep_from = 0 if self._sweep else None
        self._sweep = False
        self._checkpoint = Checkpoint(self._writer, recovered.state, next_sequence, sweep_from)
        self._checkpointed_at = now
        self.journal_bytes = 0

    def step_checkpoint(self, *, amid_traffic: bool = False) -> set[Session] | None:
        """Write rows into the open transaction for a few milliseconds.

        Returns:
            The sessions it touched once its last row is written, else None. The commit that follows
            ends the transaction, and `finish_checkpoint` makes it durable.
        """
        checkpoint = self._checkpoint
        if checkpoint is None:
            return None
        deadline = time.monotonic() + (
            CHECKPOINT_STEP_AMID_TRAFFIC_SECONDS if amid_traffic else CHECKPOINT_STEP_SECONDS
        )
        while not checkpoint.step():
            if time.monotonic() >= deadline:
                return None
        self._checkpoint = None
        self.written_to = checkpoint.next_sequence
        return checkpoint.changes.sessions

    def finish_checkpoint(self) -> int:
        """Make committed rows durable and copy them into the database file; blocks on the disk.

        On a thread and connection of its own: nobody waits for it. No other checkpoint begins
        until it has returned.

        Returns:
            The first sequence that the tables do not cover, for `checkpoint_finished`.
        """
        covered = self.written_to
        os.fsync(self._wal.fileno())
        self._copier.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        return covered

    def checkpoint_finished(self, covered: int) -> None:
        """The tables cover the journal up to `covered`, whatever happens."""
        self._covered = max(self._covered, covered)

    # -- what the journal need not keep

    @property
    def journal_total_bytes(self) -> int:
        """Bytes of the journal that are kept."""
        return self.journal.total_bytes

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
        if clean:
            self._running.unlink(missing_ok=True)
            database.fsync_folder(self.data_dir)
        self._lock.close()
