"""Writes a checkpoint's rows. A transaction can be retried if the disk is full."""

import sqlite3
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TypeVar

from gateway.broker.core.sessions.message import Message
from gateway.broker.store.no_room import rows_lack_room
from gateway.broker.store.rows import Row, message_row

CHUNK_ROWS = 64
"""Rows written between two checks of the elapsed time, which takes at most some milliseconds on a
small Raspberry Pi."""

CHUNK_BYTES = 128 * 1024
"""Maximum bytes of messages in a chunk, not counting its last message. Without this limit, writing
64 messages of 60 kB would take 4 ms."""

Item = TypeVar("Item")


class RowWriter:
    """Writer of one transaction's rows. It keeps the rows in memory for a possible retry."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.lacks_room = False
        """True if the disk was full. Roll back the transaction, then call `write_again`."""
        self._uncommitted: list[tuple[str, list[Row]]] = []
        """Statements and rows of the open transaction, in order."""

    def write(self, statement: str, rows: list[Row]) -> None:
        """Execute a statement for each row. If the disk is full, store the rows for a retry."""
        self._uncommitted.append((statement, rows))
        if self.lacks_room:
            return  # the caller's generator must still reach its next `yield`
        try:
            self._connection.executemany(statement, rows)
        except sqlite3.OperationalError as error:
            if not rows_lack_room(error):
                raise
            self.lacks_room = True

    def write_in_chunks(
        self, statement: str, rows: Iterable[Row], chunk_rows: int = CHUNK_ROWS
    ) -> Iterator[bool]:
        """Execute a statement for each row, in chunks of `chunk_rows` rows.

        Yield False after each chunk, so that the caller can pause.
        """
        iterator = iter(rows)
        while chunk := list(islice(iterator, chunk_rows)):
            self.write(statement, chunk)
            yield False

    def write_messages(self, messages: Iterable[Message | None]) -> None:
        """Write the messages that are not stored yet."""
        rows: list[Row] = []
        for message in messages:
            if message is not None and not message.stored:
                message.stored = True
                rows.append(message_row(message))
        if rows:
            self.write("INSERT OR REPLACE INTO messages VALUES (?,?,?,?,?)", rows)

    def committed(self) -> None:
        """Discard the rows of the committed transaction from memory. The WAL contains them now."""
        self._uncommitted.clear()

    def write_again(self) -> None:
        """Write the rows of the last transaction again, after it was rolled back.

        The statements do not depend on existing rows, and no other process writes to the tables.
        Therefore, repeating the statements in the same order produces the same rows, even if the
        state has changed since.
        """
        self.lacks_room = False
        lost, self._uncommitted = self._uncommitted, []
        for statement, rows in lost:
            self.write(statement, rows)


def chunks_of(rows: Iterable[tuple[Item, Message | None]]) -> Iterator[list[Item]]:
    """Yield `rows` in chunks, so that the caller can check the elapsed time after each chunk.

    Each element of `rows` is a row and the message that must be written with it, if any.
    """
    chunk: list[Item] = []
    size_bytes = 0
    for row, message in rows:
        chunk.append(row)
        if message is not None and not message.stored:
            size_bytes += message.size_bytes()
        if len(chunk) >= CHUNK_ROWS or size_bytes >= CHUNK_BYTES:
            yield chunk
            chunk, size_bytes = [], 0
    if chunk:
        yield chunk
