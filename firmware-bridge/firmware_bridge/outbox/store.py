"""The outbox on disk: SQLite in WAL mode with synchronous=FULL, one narrow interface.

The statements run on the event loop's thread and only touch the page cache; `commit` waits for
the disk and belongs in the outbox's worker thread. Nothing else uses the connection meanwhile.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from firmware_bridge.outbox.boards import BoardRows
from firmware_bridge.outbox.exchanges import Exchange
from firmware_bridge.outbox.formats import MIGRATIONS_KNOWN, applied_migrations_of
from firmware_bridge.readings.publications import Publication
from gateway.files.disk_space import WAL_BYTES_KEPT, DiskSpace, lacks_room

# What a row costs beside its topic and payload, for the limit in bytes.
ROW_OVERHEAD_BYTES = 48
_BUSY_SECONDS = 5.0


def bytes_of(topic: str, payload: bytes) -> int:
    """Return the bytes that a reading counts towards `outbox_bytes_max`."""
    return len(topic) + len(payload) + ROW_OVERHEAD_BYTES


class OutboxFull(Exception):
    """The disk has no room: nothing of the transaction is there, and it may be tried again."""


class NewerOutbox(RuntimeError):
    """The file is sound, and of a version of the tables that this program does not know."""


class OutboxStore:
    """The file at `path`, open until `close`.

    Raises `sqlite3.Error` where it cannot be read or written, and the constructor `NewerOutbox`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._last_committed = 0
        # Autocommit: BEGIN and COMMIT stand where they are meant, and in which thread.
        self._connection = sqlite3.connect(
            path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        self.space = DiskSpace(path, self._connection)
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
        execute(f"PRAGMA journal_size_limit={WAL_BYTES_KEPT}")
        # Then a COMMIT alone writes, and it alone can find the disk full.
        execute("PRAGMA cache_spill=OFF")
        # Nothing is appended to the WAL of an earlier run: it goes into the database file, fsynced,
        # and a new one begins. One that another program is reading stays, which costs nothing: it
        # is whole on the medium (`recovery.py`).
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
        self.space.make_wal_room()
        self.count: int = rows[0]
        self.last_number: int = rows[1] or 0
        self.bytes: int = rows[2] or 0

    def close(self) -> None:
        """Close the file; an open transaction comes to nothing."""
        self._connection.close()

    def begin(self) -> None:
        """Begin a transaction."""
        self._last_committed = self.last_number
        self._connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Commit; return when everything since `begin` survives a power cut.

        Raises:
            OutboxFull: nothing since `begin` is stored.
        """
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
        self.space.empty_wal()

    def insert(self, publications: Sequence[Publication]) -> None:
        """Store readings behind the others, numbered in their order."""
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
        """Store a reading of a damaged outbox under its number; return False if that is taken."""
        inserted = self._connection.execute(
            "INSERT OR IGNORE INTO readings (number, topic, payload) VALUES (?, ?, ?)",
            (number, topic, payload),
        )
        return inserted.rowcount == 1

    def start(self, exchanges: Iterable[Exchange]) -> None:
        """Note the packet identifiers of exchanges that begin."""
        self._connection.executemany(
            "UPDATE readings SET packet_id = ? WHERE number = ?",
            [(exchange.packet_id, exchange.number) for exchange in exchanges],
        )

    def release(self, exchanges: Iterable[Exchange]) -> None:
        """Note that PUBREC has come."""
        self._connection.executemany(
            "UPDATE readings SET released = 1 WHERE number = ?",
            [(exchange.number,) for exchange in exchanges],
        )

    def return_to_queue(self, exchanges: Iterable[Exchange]) -> None:
        """Let readings wait again, without a packet identifier."""
        self._connection.executemany(
            "UPDATE readings SET packet_id = NULL, released = 0 WHERE number = ?",
            [(exchange.number,) for exchange in exchanges],
        )

    def remove(self, exchanges: Iterable[Exchange]) -> None:
        """Forget readings whose PUBCOMP has come."""
        self._connection.executemany(
            "DELETE FROM readings WHERE number = ?",
            [(exchange.number,) for exchange in exchanges],
        )

    def waiting_after(self, number: int, limit: int) -> list[tuple[int, str, bytes]]:
        """Return the next readings in order of arrival: number, topic, payload."""
        return self._connection.execute(
            "SELECT number, topic, payload FROM readings WHERE number > ? ORDER BY number LIMIT ?",
            (number, limit),
        ).fetchall()

    def in_flight(self) -> Iterator[Exchange]:
        """Yield the exchanges that the last run began: the oldest rows, see `exchanges.py`."""
        rows = self._connection.execute(
            "SELECT number, packet_id, topic, payload, released FROM readings ORDER BY number"
        )
        for number, packet_id, topic, payload, released in rows:
            if packet_id is None:
                return
            yield Exchange(number, packet_id, topic, payload, bool(released))

    def boards(self) -> BoardRows:
        """Load all of them, in their order of use."""
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
        """Write what has changed of boards."""
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
        """Return a property's value; None where it has none."""
        row = self._connection.execute(
            "SELECT value FROM properties WHERE name = ?", (name,)
        ).fetchone()
        return None if row is None else str(row[0])

    def set_property(self, name: str, value: str) -> None:
        """Give a property its value."""
        self._connection.execute(
            "INSERT OR REPLACE INTO properties (name, value) VALUES (?, ?)", (name, value)
        )
