"""The store's one interface: open, commit a batch, take part in checkpoints, load pages.

Everything but `fsync_commit` and `checkpoint_wal` runs on the caller's thread, in bounded slices.
While a COMMIT is in flight on its thread nobody else may touch the writing connection.
"""

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

WAL_BYTES = 1024 * 1024
"""Length of the WAL; when so much of it is in use its pages are copied into the database file. The
kernel writes them back in one go, which on a single core takes a millisecond for each MiB."""

DROP_BLOBS_MAX = 64
"""Exported blobs removed in one batch's transaction."""

DROP_BYTES_MAX = 4 * 1024 * 1024
"""The same in bytes: SQLite walks over every page of a large blob to free it."""

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

    def __init__(self, data_dir: Path, wal_length_bytes: int = WAL_BYTES) -> None:
        self.data_dir = data_dir
        self.wal_length_bytes = wal_length_bytes
        self.path = data_dir / database.DATABASE_NAME
        self._lock: IO[str] = database.lock(data_dir)
        self._running = data_dir / database.RUNNING_NAME
        self._writer: sqlite3.Connection
        self._reader: sqlite3.Connection
        self._wal_copier: sqlite3.Connection
        self._wal_index: database.WalIndex
        self._wal_tried_bytes = 0
        """What was in use when it was last copied: it can go on growing while somebody reads."""
        self._checkpoint: Checkpoint | None = None
        self._sweep = False
        self._checkpointed_at = 0.0
        self._state_covered = 1
        self.exported_sequence = 0
        self.journal_bytes = 0
        """Bytes of blobs since the last checkpoint began."""
        self.journal_total_bytes = 0
        """Bytes of all blobs that are kept."""

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
        damage.extend(recovered.damage)
        if damage:
            recovered.state.next_message_number += MESSAGES_SKIPPED_AFTER_SALVAGE
        database.grow_wal(self._writer, self.path, self.wal_length_bytes)
        self._wal_index = database.WalIndex(self.path)
        self._reader = database.connect_read_only(self.path)
        self._wal_copier = database.connect(self.path)
        self._sweep = unclean or bool(damage)
        self._checkpointed_at = now
        self._state_covered = recovered.covered
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
            recovered = recover(self._writer, logged_filters, now)
            row = self._writer.execute("SELECT sum(length(blob)) FROM journal").fetchone()
            self.journal_total_bytes = row[0] or 0
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
        """Open a transaction and put the batch's blob into it."""
        self._writer.execute("BEGIN IMMEDIATE")
        if blob is not None:
            self._writer.execute("INSERT INTO journal VALUES (?,?)", (first_sequence, blob))
            self.journal_bytes += len(blob)
            self.journal_total_bytes += len(blob)

    def fsync_commit(self) -> float:
        """Make the transaction durable; blocks on the disk. Returns how many seconds that took."""
        began = time.monotonic()
        self._writer.execute("COMMIT")
        return time.monotonic() - began

    # -- checkpoints

    def wants_checkpoint(self, changes: Changes, interval_seconds: float, now: float) -> bool:
        """Return whether it is time to begin a checkpoint."""
        if self._checkpoint is not None:
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
            The sessions it touched once its last row is written (durable with the commit that
            follows), else None.
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
        self._state_covered = checkpoint.next_sequence
        return checkpoint.changes.sessions

    def drop_exported(self) -> int:
        """Delete blobs that are both in the tables and exported; return how many."""
        return len(self._drop(min(self._state_covered, self.exported_sequence + 1), 0))

    def has_droppable(self) -> bool:
        """Return whether `drop_exported` would find more than the newest blob."""
        rows = self._reader.execute(
            "SELECT sequence FROM journal WHERE sequence < ? ORDER BY sequence LIMIT 2",
            (min(self._state_covered, self.exported_sequence + 1),),
        ).fetchall()
        return len(rows) > 1

    def truncate_journal(self, bytes_max: int) -> tuple[int, int] | None:
        """Drop the oldest blobs, exported or not, that the tables cover, beyond `bytes_max`.

        Returns:
            First and last sequence number that the session log will lack, or None.
        """
        dropped = self._drop(self._state_covered, bytes_max)
        if not dropped:
            return None
        end = self._writer.execute(
            "SELECT min(sequence) FROM journal WHERE sequence > ?", (dropped[-1],)
        ).fetchone()[0]
        first = max(dropped[0], self.exported_sequence + 1)
        return (first, end - 1) if first < end else None

    def _drop(self, before_sequence: int, bytes_max: int) -> list[int]:
        """Delete the oldest blobs while the journal holds more than `bytes_max`.

        The newest blob always stays: it tells the next start where the numbering goes on.
        """
        dropped: list[int] = []
        dropped_bytes = 0
        for sequence, size in self._writer.execute(
            "SELECT sequence, coalesce(length(blob), 0) FROM journal WHERE sequence < ?"
            " AND sequence < (SELECT max(sequence) FROM journal) ORDER BY sequence LIMIT ?",
            (before_sequence, DROP_BLOBS_MAX),
        ).fetchall():
            if self.journal_total_bytes <= bytes_max or dropped_bytes >= DROP_BYTES_MAX:
                break
            dropped_bytes += size
            self.journal_total_bytes -= size
            dropped.append(sequence)
        if dropped:
            self._writer.execute("DELETE FROM journal WHERE sequence <= ?", (dropped[-1],))
        return dropped

    # -- the WAL

    def is_wal_full(self) -> bool:
        """Return whether the write-ahead log is to be copied, if it can, before it has to grow."""
        used_bytes, is_copied = self._wal_index.used_bytes()
        if is_copied:
            return False
        if used_bytes <= self.wal_length_bytes:
            self._wal_tried_bytes = 0
        return used_bytes - self._wal_tried_bytes > self.wal_length_bytes

    def wal_bytes(self) -> int:
        """Return the bytes of the write-ahead log that are in use and not all copied."""
        used_bytes, is_copied = self._wal_index.used_bytes()
        return 0 if is_copied else used_bytes

    def checkpoint_wal(self) -> tuple[int, int]:
        """Copy WAL pages into the database file, on a thread and connection of its own.

        Returns:
            Frames in the WAL and frames copied. Equal, with no writer meanwhile: the WAL begins
            anew with the next commit.
        """
        row = self._wal_copier.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        self._wal_tried_bytes, _ = self._wal_index.used_bytes()
        return row[1], row[2]

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
        self._wal_copier.close()
        self._writer.close()
        self._wal_index.close()
        if clean:
            self._running.unlink(missing_ok=True)
            database.fsync_folder(self.data_dir)
        self._lock.close()
