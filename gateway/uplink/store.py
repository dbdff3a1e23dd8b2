"""The uplink's file, one narrow interface: its statements beside those of every queue."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from gateway.connecting.exchanges import Exchange
from gateway.files.queue_database import QueueDatabase
from gateway.uplink.formats import MIGRATION_SET, MIGRATIONS_KNOWN
from gateway.uplink.message import ROW_OVERHEAD_BYTES, Message
from gateway.uplink.routes import Side

TABLES: Final = {Side.REMOTE: "messages_out", Side.LOCAL: "messages_in"}
"""Messages on their way to each side."""
_COLUMNS = "topic, payload, qos, retain, properties, expires_at"


class UplinkStore(QueueDatabase):
    """The file at `path`: see `QueueDatabase` for what it raises."""

    migration_set = MIGRATION_SET
    migrations_known = MIGRATIONS_KNOWN

    def _migrate(self) -> None:
        from gateway.uplink.schema import migrate  # noqa: PLC0415 - see there

        migrate(self._connection)

    def _load(self) -> None:
        self._last_numbers: dict[Side, int] = {}
        for side, table in TABLES.items():
            (last,) = self._connection.execute(f"SELECT MAX(number) FROM {table}").fetchone()
            self._last_numbers[side] = last or 0
        self._last_committed = dict(self._last_numbers)

    def begin(self) -> None:
        """Begin a transaction."""
        self._last_committed = dict(self._last_numbers)
        super().begin()

    def roll_back(self) -> None:
        """End the transaction; nothing since `begin` is stored."""
        super().roll_back()
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

    def in_flight(self, target: Side) -> Iterator[Exchange[Message]]:
        """Yield the exchanges that the last run began, in the order of their rows."""
        rows = self._connection.execute(
            f"SELECT number, packet_id, released, {_COLUMNS} FROM {TABLES[target]} "
            "WHERE packet_id IS NOT NULL ORDER BY number"
        )
        for number, packet_id, released, *row in rows:
            yield Exchange(number, packet_id, _message_of(row), bool(released))

    def start(self, target: Side, exchanges: Iterable[Exchange[Message]]) -> None:
        """Note the packet identifiers of exchanges that begin, and the QoS that is used."""
        self._connection.executemany(
            f"UPDATE {TABLES[target]} SET packet_id = ?, qos = ? WHERE number = ?",
            [(each.packet_id, each.message.qos, each.number) for each in exchanges],
        )

    def release(self, target: Side, exchanges: Iterable[Exchange[Message]]) -> None:
        """Note that PUBREC has come."""
        self._connection.executemany(
            f"UPDATE {TABLES[target]} SET released = 1 WHERE number = ?",
            [(each.number,) for each in exchanges],
        )

    def return_to_queue(self, target: Side, exchanges: Iterable[Exchange[Message]]) -> None:
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
