"""The uplink's file: SQLite in WAL mode with synchronous=FULL, one narrow interface.

The statements run on the event loop's thread and only touch the page cache; `commit` waits for the
disk and belongs in the worker thread. Nothing else uses the connection meanwhile.
"""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from gateway.files.disk_space import WAL_BYTES_KEPT, DiskSpace, lacks_room
from gateway.uplink.exchanges import Exchange
from gateway.uplink.formats import MIGRATIONS_KNOWN, applied_migrations_of
from gateway.uplink.message import ROW_OVERHEAD_BYTES, Message
from gateway.uplink.routes import Side

_BUSY_SECONDS = 5.0
TABLES: Final = {Side.REMOTE: "messages_out", Side.LOCAL: "messages_in"}
"""Messages on their way to each side."""
_COLUMNS = "topic, payload, qos, retain, properties, expires_at"


class StoreFull(Exception):
    """The disk has no room: nothing of the transaction is there, and it may be tried again."""


class NewerStore(RuntimeError):
    """The file is sound, and of a version of the tables that this program does not know."""


class UplinkStore:
    """The file at `path`, open until `close`.

    Raises `sqlite3.Error` where it cannot be read or written, and the constructor `NewerStore`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        # Autocommit: BEGIN and COMMIT stand where they are meant, and in which thread.
        self._connection = sqlite3.connect(
            path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        self.space = DiskSpace(path, self._connection)
        self._last_numbers: dict[Side, int] = {}
        self._last_committed: dict[Side, int] = {}
        try:
            self._prepare()
        except (sqlite3.Error, NewerStore):
            self._connection.close()
            raise

    def _prepare(self) -> None:
        execute = self._connection.execute
        applied = applied_migrations_of(self._connection)
        if newer := [name for name in applied if name not in MIGRATIONS_KNOWN]:
            raise NewerStore(", ".join(newer))
        execute("PRAGMA journal_mode=WAL")
        execute("PRAGMA synchronous=FULL")
        execute(f"PRAGMA journal_size_limit={WAL_BYTES_KEPT}")
        # Then a COMMIT alone writes, and it alone can find the disk full.
        execute("PRAGMA cache_spill=OFF")
        # Nothing is appended to the WAL of an earlier run, see `gateway.files.database_file`.
        execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        found = execute("PRAGMA quick_check(1)").fetchone()
        if found != ("ok",):
            raise sqlite3.DatabaseError(f"integrity check: {found[0]}")
        if applied != MIGRATIONS_KNOWN:
            from gateway.uplink.schema import migrate  # noqa: PLC0415 - see there

            migrate(self._connection)
        for side, table in TABLES.items():
            (last,) = execute(f"SELECT MAX(number) FROM {table}").fetchone()
            self._last_numbers[side] = last or 0
        self.space.make_wal_room()

    def close(self) -> None:
        """Close the file; an open transaction comes to nothing."""
        self._connection.close()

    def begin(self) -> None:
        """Begin a transaction."""
        self._last_committed = dict(self._last_numbers)
        self._connection.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Commit; return when everything since `begin` survives a power cut.

        Raises:
            StoreFull: nothing since `begin` is stored.
        """
        try:
            self._connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if not lacks_room(error):
                raise
            if self._connection.in_transaction:
                self.roll_back()
            self._last_numbers = self._last_committed
            self.space.empty_wal()
            raise StoreFull(str(error)) from error

    def roll_back(self) -> None:
        """End the transaction; nothing since `begin` is stored."""
        self._connection.execute("ROLLBACK")
        self._last_numbers = self._last_committed

    # Messages on their way to a side

    def totals(self, target: Side) -> tuple[int, int]:
        """Return how many there are, and their bytes."""
        count, size_bytes = self._connection.execute(
            "SELECT COUNT(*), SUM(LENGTH(topic) + LENGTH(payload) + LENGTH(properties) + ?) "
            f"FROM {TABLES[target]}",
            (ROW_OVERHEAD_BYTES,),
        ).fetchone()
        return count, size_bytes or 0

    def insert(self, target: Side, messages: Sequence[Message]) -> None:
        """Store messages behind the others, numbered in their order."""
        first = self._last_numbers[target] + 1
        self._connection.executemany(
            f"INSERT INTO {TABLES[target]} (number, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(number, *_row_of(each)) for number, each in enumerate(messages, first)],
        )
        self._last_numbers[target] += len(messages)

    def waiting(self, target: Side, limit: int) -> list[tuple[int, Message]]:
        """Return the first messages that no exchange has been begun for, with their numbers."""
        rows = self._connection.execute(
            f"SELECT number, {_COLUMNS} FROM {TABLES[target]} "
            "WHERE packet_id IS NULL ORDER BY number LIMIT ?",
            (limit,),
        )
        return [(number, _message_of(row)) for number, *row in rows]

    def in_flight(self, target: Side) -> Iterator[Exchange]:
        """Yield the exchanges that the last run began, in the order of their rows."""
        rows = self._connection.execute(
            f"SELECT number, packet_id, released, {_COLUMNS} FROM {TABLES[target]} "
            "WHERE packet_id IS NOT NULL ORDER BY number"
        )
        for number, packet_id, released, *row in rows:
            yield Exchange(number, packet_id, _message_of(row), bool(released))

    def start(self, target: Side, exchanges: Iterable[Exchange]) -> None:
        """Note the packet identifiers of exchanges that begin, and the QoS that is used."""
        self._connection.executemany(
            f"UPDATE {TABLES[target]} SET packet_id = ?, qos = ? WHERE number = ?",
            [(each.packet_id, each.message.qos, each.number) for each in exchanges],
        )

    def release(self, target: Side, exchanges: Iterable[Exchange]) -> None:
        """Note that PUBREC has come."""
        self._connection.executemany(
            f"UPDATE {TABLES[target]} SET released = 1 WHERE number = ?",
            [(each.number,) for each in exchanges],
        )

    def return_to_queue(self, target: Side, exchanges: Iterable[Exchange]) -> None:
        """Let messages wait again: their exchanges are over, unfinished."""
        self._connection.executemany(
            f"UPDATE {TABLES[target]} SET packet_id = NULL, released = 0 WHERE number = ?",
            [(each.number,) for each in exchanges],
        )

    def remove(self, target: Side, numbers: Iterable[int]) -> None:
        """Remove messages that are through, or that nothing more is to be done for."""
        self._connection.executemany(
            f"DELETE FROM {TABLES[target]} WHERE number = ?", [(number,) for number in numbers]
        )

    # Packet identifiers of QoS 2 messages that a side has sent and not released

    def received(self, source: Side) -> set[int]:
        """Return those that are open."""
        rows = self._connection.execute(
            "SELECT packet_id FROM received WHERE side = ?", (int(source),)
        )
        return {packet_id for (packet_id,) in rows}

    def note_received(self, source: Side, packet_ids: Iterable[int]) -> None:
        """Note packet identifiers whose messages are stored in the same transaction."""
        self._connection.executemany(
            "INSERT OR IGNORE INTO received (side, packet_id) VALUES (?, ?)",
            [(int(source), packet_id) for packet_id in packet_ids],
        )

    def free_received(self, source: Side, packet_ids: Iterable[int] | None) -> None:
        """Forget packet identifiers whose PUBREL has come; None: all, their session is lost."""
        if packet_ids is None:
            self._connection.execute("DELETE FROM received WHERE side = ?", (int(source),))
            return
        self._connection.executemany(
            "DELETE FROM received WHERE side = ? AND packet_id = ?",
            [(int(source), packet_id) for packet_id in packet_ids],
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

    def salvage_from(self, damaged: sqlite3.Connection) -> int:
        """Take what can be read of a damaged file into this new one; return how many messages."""
        from gateway.files.salvage import copy_table  # noqa: PLC0415 - only where there is damage

        for table in ("properties", "received"):
            copy_table(damaged, self._connection, table)
        return sum(copy_table(damaged, self._connection, table) for table in TABLES.values())


def _row_of(message: Message) -> tuple[object, ...]:
    return (
        message.topic,
        message.payload,
        message.qos,
        message.retain,
        message.properties,
        message.expires_at,
    )


def _message_of(row: Sequence[object]) -> Message:
    topic, payload, qos, retain, properties, expires_at = row
    assert isinstance(topic, str)
    assert isinstance(payload, bytes)
    assert isinstance(qos, int)
    assert isinstance(properties, bytes)
    assert expires_at is None or isinstance(expires_at, float)
    return Message(topic, payload, qos, bool(retain), properties, expires_at)
