"""The outbox on disk: SQLite in WAL mode with synchronous=FULL, one narrow interface.

The statements run on the event loop's thread and only touch the page cache; `commit` waits for
the disk and belongs in the outbox's worker thread. Nobody else touches the connection meanwhile.
"""

import contextlib
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from firmware_bridge.outbox.boards import BoardRows
from firmware_bridge.outbox.exchanges import Exchange
from firmware_bridge.outbox.formats import MIGRATIONS_KNOWN, applied_migrations_of
from firmware_bridge.readings.publications import Publication
from gateway.files.disk_errors import is_full
from gateway.files.private import open_private

# What a row costs beside its topic and payload, for the limit in bytes.
ROW_OVERHEAD_BYTES = 48
# After a burst the write-ahead log shrinks back to this. It has the blocks from the start, for what
# goes on when the disk is full: some hundred commits of acknowledgements.
_WAL_BYTES_KEPT = 8 * 1024 * 1024
# A MiB, which is written at each start (`_make_wal_room`); less where the WAL has room for less
# than four times as much.
_CHECKPOINT_PAGES_MAX = 250
_PAGE_BYTES = 4096
# https://www.sqlite.org/fileformat2.html#walformat
_FRAME_BYTES = 24 + _PAGE_BYTES
_BUSY_SECONDS = 5.0
# SQLite has a code for ENOSPC; where it makes its shared memory longer, it has not.
_NO_ROOM = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)
# With less free no more readings are taken. Of a small file system it is a share, as of the WAL.
_FREE_BYTES_MIN = 16 * 1024 * 1024
_DISK_SHARE = 16
# For a database file that grows while the disk is full, in steps of this: a row that is sent takes
# some bytes more than one that waits.
_RESERVE_BYTES = 1024 * 1024
_RESERVE_STEP_BYTES = 16 * _PAGE_BYTES


def bytes_of(topic: str, payload: bytes) -> int:
    """What a reading counts towards `outbox_bytes_max`."""
    return len(topic) + len(payload) + ROW_OVERHEAD_BYTES


def lacks_room(error: Exception) -> bool:
    """Whether the disk is full, which says nothing about what is on it."""
    return is_full(error) or getattr(error, "sqlite_errorcode", None) in _NO_ROOM


class OutboxFull(Exception):
    """The disk has no room: nothing of the transaction is there, and it may be tried again."""


class NewerOutbox(RuntimeError):
    """The file is sound, and of a version of the tables that this program does not know."""


class OutboxStore:
    """Raises `sqlite3.Error` where the file cannot be read or written, `NewerOutbox` at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reserve = path.with_name(path.name + "-reserve")
        self._last_committed = 0
        # Autocommit: BEGIN and COMMIT stand where they are meant, and in which thread.
        self._connection = sqlite3.connect(
            path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare()
        except (sqlite3.Error, NewerOutbox):
            self._connection.close()
            raise

    def _prepare(self) -> None:
        execute = self._connection.execute
        applied = applied_migrations_of(self._connection)
        if newer := [name for name in applied if name not in MIGRATIONS_KNOWN]:
            raise NewerOutbox(", ".join(newer))
        execute("PRAGMA journal_mode=WAL")
        execute("PRAGMA synchronous=FULL")
        execute(f"PRAGMA journal_size_limit={_WAL_BYTES_KEPT}")
        # Then a COMMIT alone writes, and it alone can find the disk full.
        execute("PRAGMA cache_spill=OFF")
        # Nothing is appended to the WAL of an earlier run: it goes into the database file, fsynced,
        # and a new one begins. One that somebody else is reading stays, which costs nothing: it is
        # whole on the medium (`outbox_recovery.py`).
        execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        found = execute("PRAGMA quick_check(1)").fetchone()
        if found != ("ok",):
            raise sqlite3.DatabaseError(f"integrity check: {found[0]}")
        if applied != MIGRATIONS_KNOWN:
            from firmware_bridge.outbox.schema import migrate  # noqa: PLC0415 - see there

            migrate(self._connection)
        rows = execute(
            "SELECT COUNT(*), MAX(number), SUM(LENGTH(topic) + LENGTH(payload) + ?) FROM readings",
            (ROW_OVERHEAD_BYTES,),
        ).fetchone()
        self._make_wal_room()
        self.count: int = rows[0]
        self.last_number: int = rows[1] or 0
        self.bytes: int = rows[2] or 0

    def _make_wal_room(self) -> None:
        """Let the WAL have blocks for what goes on when the disk is full, while nobody writes to
        it. SQLite takes zeros behind its frames for no frames."""
        total_bytes, _ = self._disk()
        size_bytes = min(_WAL_BYTES_KEPT, total_bytes // _DISK_SHARE)
        # What stands in the WAL alone may need a larger database file: no more than a quarter.
        pages = max(1, min(_CHECKPOINT_PAGES_MAX, size_bytes // _PAGE_BYTES // 4))
        self._connection.execute(f"PRAGMA wal_autocheckpoint={pages}")
        self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        wal = self.path.with_name(self.path.name + "-wal")
        with contextlib.suppress(OSError), wal.open("r+b", buffering=0) as file:
            length = file.seek(0, os.SEEK_END)
            # Up to a checkpoint the blocks are written now: a commit in a block that only has its
            # place makes the file system write its own journal as well. Block by block, because
            # what comes in one write the kernel keeps, and writes, in one.
            for _ in range(length, pages * _FRAME_BYTES, _PAGE_BYTES):
                file.write(bytes(_PAGE_BYTES))
            if length < size_bytes:
                os.posix_fallocate(file.fileno(), 0, size_bytes)

    def _disk(self) -> tuple[int, int]:
        """Bytes of the file system, and how many of them are free for us."""
        disk = os.statvfs(self.path.parent)
        return disk.f_blocks * disk.f_frsize, disk.f_bavail * disk.f_frsize

    def has_room(self) -> bool:
        """Whether the disk has room for more readings. Less is left to those that are there, which
        have to be able to leave."""
        total_bytes, free_bytes = self._disk()
        return free_bytes >= min(_FREE_BYTES_MIN, total_bytes // _DISK_SHARE)

    def close(self) -> None:
        self._connection.close()

    def begin(self) -> None:
        self._last_committed = self.last_number
        self._connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Returns when everything since `begin` would survive a power cut. Raises `OutboxFull`:
        nothing of it is there."""
        try:
            self._connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if not lacks_room(error):
                raise
            self._roll_back()
            raise OutboxFull(str(error)) from error

    def _roll_back(self) -> None:
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        self.last_number = self._last_committed
        # What the WAL has goes into the database file: then the WAL begins anew, in the blocks that
        # it has. A larger database file takes some of the reserve.
        while not self._checkpoint() and self._give_of_reserve():
            pass

    def _checkpoint(self) -> bool:
        try:
            self._connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        except sqlite3.OperationalError as error:
            if not lacks_room(error):
                raise
            return False
        return True

    def make_reserve(self) -> None:
        """Take what a full disk will not give. Where there is no room for it, it is less."""
        total_bytes, _ = self._disk()
        size_bytes = min(_RESERVE_BYTES, total_bytes // _DISK_SHARE)
        with contextlib.suppress(OSError):
            descriptor = open_private(self._reserve, os.O_RDWR | os.O_CREAT)
            try:
                if os.fstat(descriptor).st_size < size_bytes:
                    os.posix_fallocate(descriptor, 0, size_bytes)
            finally:
                os.close(descriptor)

    def _give_of_reserve(self) -> bool:
        with contextlib.suppress(OSError):
            size_bytes = self._reserve.stat().st_size
            os.truncate(self._reserve, max(0, size_bytes - _RESERVE_STEP_BYTES))
            return size_bytes > 0
        return False

    def insert(self, publications: Sequence[Publication]) -> None:
        first = self.last_number + 1
        self._connection.executemany(
            "INSERT INTO readings (number, topic, payload) VALUES (?, ?, ?)",
            [
                (number, publication.topic, publication.payload)
                for number, publication in enumerate(publications, first)
            ],
        )
        self.last_number += len(publications)

    def restore(self, number: int, topic: str, payload: bytes) -> bool:
        """A reading out of a damaged outbox, under the number it had; False if that is taken."""
        inserted = self._connection.execute(
            "INSERT OR IGNORE INTO readings (number, topic, payload) VALUES (?, ?, ?)",
            (number, topic, payload),
        )
        return inserted.rowcount == 1

    def start(self, exchanges: Iterable[Exchange]) -> None:
        self._connection.executemany(
            "UPDATE readings SET packet_id = ? WHERE number = ?",
            [(exchange.packet_id, exchange.number) for exchange in exchanges],
        )

    def release(self, exchanges: Iterable[Exchange]) -> None:
        self._connection.executemany(
            "UPDATE readings SET released = 1 WHERE number = ?",
            [(exchange.number,) for exchange in exchanges],
        )

    def return_to_queue(self, exchanges: Iterable[Exchange]) -> None:
        self._connection.executemany(
            "UPDATE readings SET packet_id = NULL, released = 0 WHERE number = ?",
            [(exchange.number,) for exchange in exchanges],
        )

    def remove(self, exchanges: Iterable[Exchange]) -> None:
        self._connection.executemany(
            "DELETE FROM readings WHERE number = ?",
            [(exchange.number,) for exchange in exchanges],
        )

    def waiting_after(self, number: int, limit: int) -> list[tuple[int, str, bytes]]:
        """The next readings in order of arrival: number, topic, payload."""
        return self._connection.execute(
            "SELECT number, topic, payload FROM readings WHERE number > ? ORDER BY number LIMIT ?",
            (number, limit),
        ).fetchall()

    def in_flight(self) -> Iterator[Exchange]:
        """The exchanges begun by the run before. They are the oldest rows: see `exchanges.py`."""
        rows = self._connection.execute(
            "SELECT number, packet_id, topic, payload, released FROM readings ORDER BY number"
        )
        for number, packet_id, topic, payload, released in rows:
            if packet_id is None:
                return
            yield Exchange(number, packet_id, topic, payload, bool(released))

    def boards(self) -> BoardRows:
        """All of them, in their order of use."""
        execute = self._connection.execute
        return BoardRows(
            blocks=[
                ((device, boot, repeat), block, digests, used)
                for device, boot, repeat, block, digests, used in execute(
                    "SELECT device, boot, repeat, block, digests, used FROM board_frames "
                    "ORDER BY used"
                )
            ],
            counts=[
                ((device, boot), starts)
                for device, boot, starts in execute(
                    "SELECT device, boot, starts FROM board_starts ORDER BY rowid"
                )
            ],
            floors=[
                (device, (boot, starts))
                for device, boot, starts in execute("SELECT device, boot, starts FROM board_floors")
            ],
        )

    def save_boards(self, changes: BoardRows) -> None:
        execute_many = self._connection.executemany
        execute_many(
            "DELETE FROM board_frames WHERE device = ? AND boot = ? AND repeat = ? AND block = ?",
            [(*key, block) for key, block in changes.removed_blocks],
        )
        execute_many(
            "INSERT INTO board_frames (device, boot, repeat, block, digests, used) "
            "VALUES (?, ?, ?, ?, ?, ?) "
            # A replaced row would be another one, in another page, and its index entry as well.
            "ON CONFLICT DO UPDATE SET digests = excluded.digests, used = excluded.used",
            [(*key, block, digests, used) for key, block, digests, used in changes.blocks],
        )
        execute_many(
            "INSERT INTO board_starts (device, boot, starts) VALUES (?, ?, ?) "
            "ON CONFLICT DO UPDATE SET starts = excluded.starts",
            [(*key, starts) for key, starts in changes.counts],
        )
        execute_many(
            "DELETE FROM board_starts WHERE device = ? AND boot = ?", changes.removed_counts
        )
        execute_many(
            "INSERT OR REPLACE INTO board_floors (device, boot, starts) VALUES (?, ?, ?)",
            [(device, *floor) for device, floor in changes.floors],
        )

    def property(self, name: str) -> str | None:
        row = self._connection.execute(
            "SELECT value FROM properties WHERE name = ?", (name,)
        ).fetchone()
        return None if row is None else str(row[0])

    def set_property(self, name: str, value: str) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO properties (name, value) VALUES (?, ?)", (name, value)
        )
