"""A database table of queued messages. Rows are numbered in order of arrival.

Each row contains a message, its row number (`number`), and the state of its delivery. `packet_id`
is NULL until the delivery starts. `released` is 1 after the broker has responded with PUBREC.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from gateway.process.files.queue_database import QueueDatabase
from gateway.process.mqtt_client.exchanges import Exchange, Sent


class Storable(Sent, Protocol):
    """The interface of a message that a queue can store."""

    @property
    def bytes_count(self) -> int:
        """Size of the message's row in bytes, which counts towards the queue's size limit."""


Queued = TypeVar("Queued", bound=Storable)


class QueueTable(Generic[Queued]):
    """The database table of one queue. All changes are part of the current transaction.

    A subclass defines the type and the columns of its messages. The attribute `last_number` is the
    number of the newest row.
    """

    message_type: ClassVar[Callable[..., Any]]
    """Builds a message from the values of `columns`."""
    columns: ClassVar[tuple[str, ...]]
    """Columns of a message, named like the message's attributes. One of them is `retain`."""
    columns_of_batch: ClassVar[tuple[str, ...]] = ()
    """Further columns. Each call of `insert` writes the same values into all its rows."""
    bytes_of_row: ClassVar[str]
    """SQL expression for the size of a row in bytes, equal to the message's `bytes_count`."""

    def __init__(self, connection: sqlite3.Connection, name: str) -> None:
        self._connection = connection
        self._name = name
        self._values_of: Callable[[Queued], tuple[object, ...]] = attrgetter(*self.columns)
        self._names = ", ".join(self.columns)
        self._retain = self.columns.index("retain")
        (last,) = connection.execute(f"SELECT MAX(number) FROM {name}").fetchone()
        self.last_number: int = last or 0
        self._last_committed = self.last_number

    def totals(self) -> tuple[int, int]:
        """Return the number of rows and their total size in bytes."""
        count, size_bytes = self._connection.execute(
            f"SELECT COUNT(*), SUM({self.bytes_of_row}) FROM {self._name}"
        ).fetchone()
        return count, size_bytes or 0

    def insert(self, messages: Sequence[Queued], *values_of_batch: object) -> None:
        """Append messages in the given order.

        Every new row also contains `values_of_batch`, in the columns `columns_of_batch`.
        If there are fewer values than columns, the remaining columns get their default values.
        """
        names = ("number", *self.columns, *self.columns_of_batch[: len(values_of_batch)])
        self._connection.executemany(
            f"INSERT INTO {self._name} ({', '.join(names)}) VALUES ({', '.join('?' * len(names))})",
            [
                (number, *self._values_of(each), *values_of_batch)
                for number, each in enumerate(messages, self.last_number + 1)
            ],
        )
        self.last_number += len(messages)

    def waiting(self, limit: int, *, after: int = 0) -> list[tuple[int, Queued]]:
        """Return the oldest messages whose delivery has not started, with their row numbers.

        At most `limit` messages are returned. Their row numbers are greater than the argument
        `after`.
        """
        rows = self._connection.execute(
            f"SELECT number, {self._names} FROM {self._name} "
            "WHERE packet_id IS NULL AND number > ? ORDER BY number LIMIT ?",
            (after, limit),
        )
        return [(number, self._message_of(row)) for number, *row in rows]

    def in_flight(self) -> Iterator[Exchange[Queued]]:
        """Yield the exchanges that were in flight when the program stopped, in row order."""
        rows = self._connection.execute(
            f"SELECT number, packet_id, released, {self._names} FROM {self._name} "
            "WHERE packet_id IS NOT NULL ORDER BY number"
        )
        for number, packet_id, released, *row in rows:
            yield Exchange(number, packet_id, self._message_of(row), bool(released))

    def start(self, exchanges: Iterable[Exchange[Queued]]) -> None:
        """Store the packet identifiers of started exchanges."""
        self._update("packet_id = ?", [(each.packet_id, each.number) for each in exchanges])

    def release(self, exchanges: Iterable[Exchange[Queued]]) -> None:
        """Record in the table that PUBREC was received for the given exchanges."""
        self._update("released = 1", [(each.number,) for each in exchanges])

    def return_to_queue(self, exchanges: Iterable[Exchange[Queued]]) -> None:
        """Mark the messages of unfinished exchanges as waiting again."""
        self._update("packet_id = NULL, released = 0", [(each.number,) for each in exchanges])

    def remove(self, numbers: Iterable[int]) -> None:
        """Delete rows by number, after their messages were delivered or given up."""
        self._connection.executemany(
            f"DELETE FROM {self._name} WHERE number = ?", [(number,) for number in numbers]
        )

    def begin(self) -> None:
        """Save the last row number at the start of a transaction. `roll_back` can restore it."""
        self._last_committed = self.last_number

    def roll_back(self) -> None:
        """Restore the last row number that `begin` saved, because new rows were rolled back."""
        self.last_number = self._last_committed

    def _message_of(self, row: list[Any]) -> Queued:
        row[self._retain] = bool(row[self._retain])
        message: Queued = self.message_type(*row)
        return message

    def _update(self, changes: str, rows: Iterable[tuple[object, ...]]) -> None:
        self._connection.executemany(f"UPDATE {self._name} SET {changes} WHERE number = ?", rows)


class TableDatabase(QueueDatabase):
    """A database that contains the tables of one or more queues.

    `queue_tables` lists these tables. A subclass sets it in `_load`.
    """

    queue_tables: Sequence[QueueTable[Any]]

    def begin(self) -> None:
        """Begin a transaction."""
        for table in self.queue_tables:
            table.begin()
        super().begin()

    def roll_back(self) -> None:
        """Roll back the transaction. All changes since `begin` are discarded."""
        super().roll_back()
        for table in self.queue_tables:
            table.roll_back()
