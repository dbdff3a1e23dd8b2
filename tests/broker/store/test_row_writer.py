"""Rows for which the disk had no room are written again, in their order."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from gateway.broker.core.sessions.message import Message
from gateway.broker.store.row_writer import CHUNK_BYTES, CHUNK_ROWS, RowWriter, chunks_of

INSERT = "INSERT OR REPLACE INTO t VALUES (?, ?)"


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.execute("CREATE TABLE t (number INTEGER PRIMARY KEY, contents BLOB)")
        connection.execute(
            "CREATE TABLE messages (number INTEGER PRIMARY KEY, topic, payload, flags, properties)"
        )
        yield connection


def rows_in(connection: sqlite3.Connection) -> list[tuple[int, bytes]]:
    return connection.execute("SELECT number, contents FROM t ORDER BY number").fetchall()


def test_rows_of_a_transaction_without_room_are_written_again(
    connection: sqlite3.Connection,
) -> None:
    writer = RowWriter(connection)
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages + 8}")
    connection.execute("BEGIN")
    writer.write(INSERT, [(1, b"first")])
    writer.write(INSERT, [(2, bytes(200_000))])
    assert writer.lacks_room
    writer.write(INSERT, [(1, b"second")])  # stored only
    if connection.in_transaction:
        connection.execute("ROLLBACK")
    assert rows_in(connection) == []
    connection.execute("PRAGMA max_page_count = 10000")
    connection.execute("BEGIN")
    writer.write_again()
    assert not writer.lacks_room
    connection.execute("COMMIT")
    writer.committed()
    assert rows_in(connection) == [(1, b"second"), (2, bytes(200_000))]
    writer.write_again()  # nothing is left to be written
    assert not connection.in_transaction


def test_an_error_that_is_no_lack_of_room_is_raised(connection: sqlite3.Connection) -> None:
    with pytest.raises(sqlite3.OperationalError, match="no such table"):
        RowWriter(connection).write("INSERT INTO other VALUES (?)", [(1,)])


def test_chunks_end_at_a_number_of_rows(connection: sqlite3.Connection) -> None:
    rows = [(number, b"") for number in range(2 * CHUNK_ROWS + 1)]
    steps = list(RowWriter(connection).write_in_chunks(INSERT, rows))
    assert steps == [False, False, False]
    assert rows_in(connection) == rows


def test_chunks_end_at_a_number_of_bytes() -> None:
    messages = [
        Message(number, "t", b"\x00\x01t", bytes(CHUNK_BYTES // 2), 1, False)
        for number in (1, 2, 3)
    ]
    assert [len(chunk) for chunk in chunks_of((each, each) for each in messages)] == [2, 1]
    for message in messages:
        message.stored = True
    assert [len(chunk) for chunk in chunks_of((each, each) for each in messages)] == [3]


def test_a_stored_message_is_not_written_again(connection: sqlite3.Connection) -> None:
    writer = RowWriter(connection)
    message = Message(1, "t", b"\x00\x01t", b"x", 1, False)
    writer.write_messages([message, None, message])
    assert message.stored
    assert connection.execute("SELECT count(*) FROM messages").fetchone() == (1,)
