"""A table of queued messages: numbers, exchanges, and rollback."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.process.mqtt_client.exchanges import Exchange
from tests.process.durable_queue.texts import Text, TextDatabase


@pytest.fixture
def database(tmp_path: Path) -> Iterator[TextDatabase]:
    database = TextDatabase(tmp_path / "texts.db")
    yield database
    database.close()


def test_messages_are_numbered_in_order_and_read_as_they_were_written(
    database: TextDatabase,
) -> None:
    database.write("a", "bc")
    texts = database.texts
    assert texts.totals() == (2, 5)
    assert texts.waiting(9) == [(1, Text("a")), (2, Text("bc"))]
    assert texts.waiting(1) == [(1, Text("a"))]
    assert texts.waiting(9, after=1) == [(2, Text("bc"))]


def test_an_exchange_goes_through_its_states(database: TextDatabase) -> None:
    database.write("a", "b", "c")
    texts, exchange = database.texts, Exchange(2, 40, Text("b"))
    texts.start([exchange])
    texts.release([exchange])
    assert list(texts.in_flight()) == [Exchange(2, 40, Text("b"), True)]
    assert [number for number, _ in texts.waiting(9)] == [1, 3]
    texts.return_to_queue([exchange])
    assert list(texts.in_flight()) == []
    assert [number for number, _ in texts.waiting(9)] == [1, 2, 3]
    texts.remove([1, 2])
    assert texts.totals() == (1, 2)


def test_what_is_rolled_back_takes_no_numbers(database: TextDatabase) -> None:
    database.write("a")
    database.begin()
    database.texts.insert([Text("gone")])
    database.roll_back()
    database.write("b")
    assert database.texts.waiting(9) == [(1, Text("a")), (2, Text("b"))]


def test_numbers_continue_in_an_emptied_table_and_after_a_restart(database: TextDatabase) -> None:
    database.write("a", "b")
    database.texts.remove([1, 2])
    database.write("c")
    assert database.texts.waiting(9) == [(3, Text("c"))]
    again = TextDatabase(database.path)
    again.write("d")
    assert again.texts.waiting(9, after=3) == [(4, Text("d"))]
    again.close()


def test_a_batch_has_its_columns_once_for_all_rows(database: TextDatabase) -> None:
    database.texts.insert([Text("a"), Text("b")], 7)
    database.texts.insert([Text("c")])
    rows = database._connection.execute("SELECT written FROM texts ORDER BY number").fetchall()
    assert rows == [(7,), (7,), (0,)]
