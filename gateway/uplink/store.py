"""The uplink's database: its statements, in addition to those of every queue."""

import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from gateway.process.files.queue_database import QueueDatabase
from gateway.process.mqtt_client.exchanges import Exchange
from gateway.uplink.formats import MIGRATION_SET, MIGRATIONS_KNOWN
from gateway.uplink.message import ROW_OVERHEAD_BYTES, Message
from gateway.uplink.routes import Side

TABLES: Final = {Side.REMOTE: "messages_out", Side.LOCAL: "messages_in"}
"""Messages on their way to each side."""
_COLUMNS = "topic, payload, qos, retain, properties, expires_at"


class UplinkStore(QueueDatabase):
    """The database at `path`. See `QueueDatabase` for the exceptions."""

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
        """Roll the transaction back. Nothing since `begin` is stored."""
        super().roll_back()
        self._last_numbers = self._last_committed

    # Messages on their way to a side

    def totals(self, target: Side) -> tuple[int, int]:
        """Return the number of messages for a side, and their size in bytes."""
        count, size_bytes = self._connection.execute(
            "SELECT COUNT(*), SUM(LENGTH(topic) + LENGTH(payload) + LENGTH(properties) + ?) "
            f"FROM {TABLES[target]}",
            (ROW_OVERHEAD_BYTES,),
        ).fetchone()
        return count, size_bytes or 0

    def insert(self, target: Side, messages: Sequence[Message]) -> None:
        """Append messages, numbered in their order."""
        first = self._last_numbers[target] + 1
        self._connection.executemany(
            f"INSERT INTO {TABLES[target]} (number, {_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [(number, *_row_of(each)) for number, each in enumerate(messages, first)],
        )
        self._last_numbers[target] += len(messages)

    def waiting(self, target: Side, limit: int) -> list[tuple[int, Message]]:
        """Return the oldest messages without an exchange, with their numbers."""
        rows = self._connection.execute(
            f"SELECT number, {_COLUMNS} FROM {TABLES[target]} "
            "WHERE packet_id IS NULL ORDER BY number LIMIT ?",
            (limit,),
        )
        return [(number, _message_of(row)) for number, *row in rows]

    def in_flight(self, target: Side) -> Iterator[Exchange[Message]]:
        """Yield the exchanges that the last run started, in row order."""
        rows = self._connection.execute(
            f"SELECT number, packet_id, released, {_COLUMNS} FROM {TABLES[target]} "
            "WHERE packet_id IS NOT NULL ORDER BY number"
        )
        for number, packet_id, released, *row in rows:
            yield Exchange(number, packet_id, _message_of(row), bool(released))

    def start(self, target: Side, exchanges: Iterable[Exchange[Message]]) -> None:
        """Store the packet identifiers and the QoS of started exchanges."""
        self._connection.executemany(
            f"UPDATE {TABLES[target]} SET packet_id = ?, qos = ? WHERE number = ?",
            [(each.packet_id, each.message.qos, each.number) for each in exchanges],
        )

    def release(self, target: Side, exchanges: Iterable[Exchange[Message]]) -> None:
        """Store that PUBREC was received."""
        self._connection.executemany(
            f"UPDATE {TABLES[target]} SET released = 1 WHERE number = ?",
            [(each.number,) for each in exchanges],
        )

    def return_to_queue(self, target: Side, exchanges: Iterable[Exchange[Message]]) -> None:
        """Put messages back into the queue, because their exchanges ended unfinished."""
        self._connection.executemany(
            f"UPDATE {TABLES[target]} SET packet_id = NULL, released = 0 WHERE number = ?",
            [(each.number,) for each in exchanges],
        )

    def remove(self, target: Side, numbers: Iterable[int]) -> None:
        """Delete messages that are complete or given up."""
        self._connection.executemany(
            f"DELETE FROM {TABLES[target]} WHERE number = ?", [(number,) for number in numbers]
        )

    # Packet identifiers of QoS 2 messages that a side has sent and not released

    def received(self, source: Side) -> set[int]:
        """Return the packet identifiers of open QoS 2 messages from a side."""
        rows = self._connection.execute(
            "SELECT packet_id FROM received WHERE side = ?", (int(source),)
        )
        return {packet_id for (packet_id,) in rows}

    def note_received(self, source: Side, packet_ids: Iterable[int]) -> None:
        """Store packet identifiers whose messages are stored in the same transaction."""
        self._connection.executemany(
            "INSERT OR IGNORE INTO received (side, packet_id) VALUES (?, ?)",
            [(int(source), packet_id) for packet_id in packet_ids],
        )

    def free_received(self, source: Side, packet_ids: Iterable[int] | None) -> None:
        """Delete packet identifiers after their PUBREL. None: all, because the session is lost."""
        if packet_ids is None:
            self._connection.execute("DELETE FROM received WHERE side = ?", (int(source),))
            return
        self._connection.executemany(
            "DELETE FROM received WHERE side = ? AND packet_id = ?",
            [(int(source), packet_id) for packet_id in packet_ids],
        )

    def salvage_from(self, damaged: sqlite3.Connection) -> int:
        """Copy what is readable in a damaged file into this new one.

        Return the number of messages.
        """
        from gateway.process.files.salvage import copy_table  # noqa: PLC0415 - only where there is damage

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
