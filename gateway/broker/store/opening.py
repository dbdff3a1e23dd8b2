"""Opens the store: repairs the database, rebuilds the state, and resumes the journal.

Nothing is changed if another version wrote the data or the disk cannot be used.
"""

import os
import secrets
import sqlite3
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from gateway.broker.core.records.kinds import StartKind
from gateway.broker.store import database, formats
from gateway.broker.store.journal import Journal
from gateway.broker.store.journal_files import FILE_PATTERN, journal_files, sequence_of
from gateway.broker.store.journal_scan import JournalScan
from gateway.broker.store.lost_messages import lost_messages
from gateway.broker.store.recovery import SKIPPED_GAPS, STORES_BEFORE, Recovered, recover
from gateway.broker.store.unsynced import Unsynced
from gateway.process.files.disk_errors import is_full
from gateway.process.files.salvage import lengthen_emptied

MESSAGES_SKIPPED_AFTER_SALVAGE = 1_000_000
"""Number of message numbers skipped after damage, because lost blobs may have used some of them."""

SESSIONS_SKIPPED_AFTER_SALVAGE = 1_000_000
"""Number of session numbers skipped if the journal's end cannot be read, because lost blobs may
have used some of them. A session takes more than 14 bytes in the journal, so this is enough for
14 MB of lost blobs. Session numbers have 32 bits."""


@dataclass
class Opened:
    """The result of opening the store, for the log, the status page and the session log."""

    recovered: Recovered
    recovery: StartKind
    store: bytes
    damage: list[str] = field(default_factory=list)


@dataclass
class Files:
    """The open files of a running store, except those of the journal."""

    writer: sqlite3.Connection
    """Connection that writes rows. It must not be used while another thread runs its COMMIT."""
    reader: sqlite3.Connection
    """Connection that reads pages of queues."""
    copier: sqlite3.Connection
    """Connection that copies the WAL into the database file."""
    wal: IO[bytes]
    """The WAL file, opened so that it can be synced."""
    unsynced: Unsynced

    def close(self) -> None:
        """Close all files and database connections of the store."""
        self.reader.close()
        self.copier.close()
        self.writer.close()
        self.wal.close()
        self.unsynced.close()


class StoreOpening:
    """One attempt to open the store in a data directory."""

    def __init__(self, data_dir: Path, journal: Journal, wal_room_bytes: int) -> None:
        """Prepare an attempt to open the store.

        `wal_room_bytes` is the disk space allocated to the WAL. Checkpoints use it on a full disk.
        """
        self.data_dir = data_dir
        self.path = data_dir / database.DATABASE_NAME
        self.journal = journal
        self.wal_room_bytes = wal_room_bytes
        self._writer: sqlite3.Connection
        self._others: list[sqlite3.Connection | IO[bytes]] = []

    def open(self, logged_filters: list[str], now: float, *, unclean: bool) -> tuple[Opened, Files]:
        """Open the database, repair it if necessary, and rebuild the broker's state.

        The argument `unclean` is True if the last run did not stop cleanly. Raises sqlite3.Error
        and OSError if a file cannot be used, and OtherFormat if another version wrote the data.
        """
        self._refuse_other_formats()
        damage: list[str] = []
        if database.finish_salvage(self.path):
            damage.append("a salvage that had been cut short was finished")
        is_new = not self.path.exists()
        if not is_new:
            self._repair(damage, unclean=unclean)
        recovered, store = self._load_or_replace(logged_filters, now, damage)
        if is_new and recovered.journal.end is not None:
            damage.append(f"{self.path.name} was missing beside its journal")
        damage.extend(recovered.damage)
        if damage:
            damage.extend(lost_messages(self._writer, recovered))
            recovered.state.next_message_number += MESSAGES_SKIPPED_AFTER_SALVAGE
            self._record_gaps(recovered)
        self.journal.resume(recovered.journal)
        for blob in recovered.unsynced:
            self.journal.append(sequence_of(blob), blob)
        files = self._open_files(recovered)
        if damage:
            recovery = StartKind.SALVAGED
        elif is_new:
            recovery = StartKind.NEW
        else:
            recovery = StartKind.UNCLEAN if unclean else StartKind.CLEAN
        return Opened(recovered, recovery, store, damage), files

    def close(self) -> None:
        """Close everything that a failed attempt has opened."""
        for opened in self._others:
            opened.close()
        self._others.clear()
        self.journal.close()

    def _refuse_other_formats(self) -> None:
        """Raise OtherFormat if another version wrote the database or the journal."""
        salvaged = self.path.with_name(database.SALVAGED_NAME)
        formats.refuse_other_database(self.path if self.path.exists() else salvaged)
        files = journal_files(self.journal.folder)  # checks the headers
        if not self.path.exists():
            for file in files:  # nothing else shows the format of a journal without a database
                file.blobs(is_newest=file is files[-1])

    def _repair(self, damage: list[str], *, unclean: bool) -> None:
        emptied = lengthen_emptied(self.path)
        database.rewrite_wal(self.path)
        found = database.damage_of(self.path, thorough=unclean or emptied)
        if found is not None or emptied:
            damage.append(self._replace(found or "a file of zero bytes beside its WAL"))

    def _load_or_replace(
        self, logged_filters: list[str], now: float, damage: list[str]
    ) -> tuple[Recovered, bytes]:
        try:
            return self._load(logged_filters, now)
        except (sqlite3.DatabaseError, ValueError, TypeError, KeyError) as error:
            # The check at the start did not find this: damage elsewhere, or rows that no broker
            # wrote.
            database.refuse_if_unavailable(self.path, error)
            damage.append(self._replace(f"it cannot be loaded: {error}"))
            return self._load(logged_filters, now)

    def _load(self, logged_filters: list[str], now: float) -> tuple[Recovered, bytes]:
        """Open the database and load everything. Return the recovered state and the store's id."""
        self._writer = database.connect(self.path)
        try:
            database.empty_wal(self._writer)
            database.create_tables(self._writer)
            recovered = recover(
                self._writer, self.data_dir, logged_filters, now, with_unsynced=True
            )
            store = self._store_id(recovered.journal)
        except BaseException:
            self._writer.close()
            raise
        self._others.append(self._writer)
        return recovered, store

    def _open_files(self, recovered: Recovered) -> Files:
        unsynced = Unsynced(self.journal.folder, recovered.previous_boot)
        reader = database.connect_read_only(self.path)
        self._others.append(reader)
        copier = database.connect(self.path)
        self._others.append(copier)
        wal = self.path.with_name(self.path.name + "-wal").open("rb")
        self._others.append(wal)
        # The id of a new store must be durable before a blob contains it, and so must the gaps.
        os.fsync(wal.fileno())
        self._make_wal_room()
        return Files(self._writer, reader, copier, wal, unsynced)

    def _make_wal_room(self) -> None:
        """Allocate disk blocks to the WAL in advance, for checkpoints on a full disk.

        SQLite accepts a WAL that ends with zeros, and does not shorten the file while the database
        is open.
        """
        try:
            with self.path.with_name(self.path.name + "-wal").open("r+b") as wal:
                if os.fstat(wal.fileno()).st_size < self.wal_room_bytes:
                    os.posix_fallocate(wal.fileno(), 0, self.wal_room_bytes)
        except OSError as error:
            if not is_full(error):
                raise

    def _replace(self, found: str) -> str:
        """Salvage the rows of a damaged database into a new one, and move the damaged one aside.

        `found` is a description of the damage. Return a sentence for the log.
        """
        # The rows are saved before the file is moved: a power cut in between loses nothing.
        salvaged = self.path.with_name(database.SALVAGED_NAME)
        salvaged.unlink(missing_ok=True)
        connection = database.connect(salvaged)
        database.create_tables(connection)
        saved = database.salvage(self.path, connection)
        connection.close()
        kept = database.set_aside(self.path)
        database.finish_salvage(self.path)
        rows = ", ".join(f"{count} {table}" for table, count in saved.items() if count)
        return (
            f"database damaged ({found}); kept as "
            f"{kept.parent.relative_to(self.data_dir)}, salvaged: {rows or 'nothing'}"
        )

    def _record_gaps(self, recovered: Recovered) -> None:
        """Store the ranges of events that could not be read.

        These events are never applied, even if they are readable at a later start. If the end of
        the journal is unreadable, one sequence number is skipped for each unreadable byte. This is
        enough, because an event takes at least one byte. Files in the journal's folder that are not
        part of the recovered journal are moved aside.
        """
        journal = recovered.journal
        if journal.unread_end_bytes:
            first = recovered.next_sequence
            recovered.next_sequence += journal.unread_end_bytes
            recovered.skipped_gaps.append((first, recovered.next_sequence - 1))
        if journal.unread_end_bytes or journal.is_end_missing:
            recovered.state.next_session_number += SESSIONS_SKIPPED_AFTER_SALVAGE
        if recovered.skipped_gaps:
            text = " ".join(f"{first}-{last}" for first, last in recovered.skipped_gaps)
            self._writer.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (SKIPPED_GAPS, text))
        kept = {file.path for file in journal.files}
        for path in sorted(journal.folder.glob(FILE_PATTERN)):
            if path not in kept:
                database.set_file_aside(path, self.data_dir)

    def _store_id(self, journal: JournalScan) -> bytes:
        """Return the store's id. Create a new id if the tables that contained it are lost."""
        row = self._writer.execute("SELECT value FROM meta WHERE key = 'store'").fetchone()
        if row is not None:
            return bytes.fromhex(row[0])
        store = secrets.token_bytes(8)
        before = " ".join(sorted(journal.stores))
        self._writer.execute("BEGIN")
        self._writer.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (STORES_BEFORE, before))
        self._writer.execute("INSERT INTO meta VALUES ('store', ?)", (store.hex(),))
        self._writer.execute("COMMIT")
        return store
