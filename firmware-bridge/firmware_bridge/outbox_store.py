"""The outbox on disk: SQLite in WAL mode with synchronous=FULL, one narrow interface.

The statements run on the event loop's thread and only touch the page cache; `commit` waits for
the disk and belongs in the outbox's worker thread. Nobody else touches the connection meanwhile.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from sqlite_utils import Database

from firmware_bridge.exchanges import Exchange
from firmware_bridge.outbox_schema import MIGRATIONS
from firmware_bridge.publications import Publication

# What a row costs beside its topic and payload, for the limit in bytes.
ROW_OVERHEAD_BYTES = 48
# After a burst the write-ahead log shrinks back to this.
_WAL_BYTES_KEPT = 8 * 1024 * 1024
_BUSY_SECONDS = 5.0


def bytes_of(topic: str, payload: bytes) -> int:
    """What a reading counts towards `outbox_bytes_max`."""
    return len(topic) + len(payload) + ROW_OVERHEAD_BYTES


class OutboxStore:
    """Raises `sqlite3.Error` where the file cannot be read or written."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # Autocommit: BEGIN and COMMIT stand where they are meant, and in which thread.
        self._connection = sqlite3.connect(
            path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        try:
            self._prepare()
        except sqlite3.Error:
            self._connection.close()
            raise

    def _prepare(self) -> None:
        execute = self._connection.execute
        execute("PRAGMA journal_mode=WAL")
        execute("PRAGMA synchronous=FULL")
        execute(f"PRAGMA journal_size_limit={_WAL_BYTES_KEPT}")
        found = execute("PRAGMA quick_check(1)").fetchone()
        if found != ("ok",):
            raise sqlite3.DatabaseError(f"integrity check: {found[0]}")
        MIGRATIONS.apply(Database(self._connection))
        rows = execute(
            "SELECT COUNT(*), MAX(number), SUM(LENGTH(topic) + LENGTH(payload) + ?) FROM readings",
            (ROW_OVERHEAD_BYTES,),
        ).fetchone()
        self.count: int = rows[0]
        self.last_number: int = rows[1] or 0
        self.bytes: int = rows[2] or 0

    def close(self) -> None:
        self._connection.close()

    def begin(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Returns when everything since `begin` would survive a power cut."""
        self._connection.execute("COMMIT")

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

    def boards(self) -> list[tuple[int, int, str]]:
        """Device, boot, accepted sequences; a device's starts in the order they were heard."""
        return self._connection.execute(
            "SELECT device, boot, accepted FROM boards ORDER BY heard, rowid"
        ).fetchall()

    def save_boards(self, boards: Iterable[tuple[int, int, str, int]]) -> None:
        """Device, boot, accepted sequences, the bridge start in which it was heard."""
        self._connection.executemany(
            "INSERT OR REPLACE INTO boards (device, boot, accepted, heard) VALUES (?, ?, ?, ?)",
            boards,
        )

    def remove_boards(self, boards: Iterable[tuple[int, int]]) -> None:
        self._connection.executemany("DELETE FROM boards WHERE device = ? AND boot = ?", boards)

    def property(self, name: str) -> str | None:
        row = self._connection.execute(
            "SELECT value FROM properties WHERE name = ?", (name,)
        ).fetchone()
        return None if row is None else str(row[0])

    def set_property(self, name: str, value: str) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO properties (name, value) VALUES (?, ?)", (name, value)
        )
