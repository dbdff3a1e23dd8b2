"""The state of a queue in memory, which must agree with the queue's table."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.process.durable_queue.broker_queue import BrokerQueue
from gateway.process.durable_queue.settlement import ExchangeSettlement
from gateway.process.mqtt_client.exchanges import Exchanges
from tests.process.durable_queue.texts import Text, TextDatabase


@pytest.fixture
def database(tmp_path: Path) -> Iterator[TextDatabase]:
    database = TextDatabase(tmp_path / "texts.db")
    database.write(*"abcde")
    yield database
    database.close()


def queue_of(database: TextDatabase) -> BrokerQueue[Text]:
    return BrokerQueue(database.texts, Exchanges(10), session_key="session")


def started_by(queue: BrokerQueue[Text], count: int) -> list[str]:
    """Start exchanges as a commit does, and return their texts."""
    queue.write_changes()
    queue.start(count)
    return [each.message.text for each in queue.started]


def test_messages_are_started_in_order_each_once(database: TextDatabase) -> None:
    queue = queue_of(database)
    assert queue.can_start
    assert (started_by(queue, 2), started_by(queue, 9)) == (["a", "b"], ["c", "d", "e"])
    assert (started_by(queue, 1), queue.waiting, queue.can_start) == ([], 0, False)


def test_a_start_that_was_not_committed_is_made_again(database: TextDatabase) -> None:
    queue = queue_of(database)
    database.begin()
    started_by(queue, 3)
    database.roll_back()
    queue.undo_start()
    assert (queue.waiting, len(queue.exchanges), queue.started) == (5, 0, [])
    assert started_by(queue, 3) == ["a", "b", "c"]
    started_by(queue, 0)
    queue.undo_start()
    assert started_by(queue, 1) == ["d"], "an empty start undoes nothing"


def test_messages_of_ended_exchanges_come_first_again(database: TextDatabase) -> None:
    queue = queue_of(database)
    started_by(queue, 3)
    settlement = ExchangeSettlement(queue.exchanges)
    settlement.lose_session()
    queue.apply(settlement)
    assert (queue.waiting, queue.started) == (5, [])
    started_by(queue, 0)
    queue.undo_start()
    assert started_by(queue, 5) == ["a", "b", "c", "d", "e"]


def test_a_queue_goes_on_with_the_exchanges_of_the_last_run(database: TextDatabase) -> None:
    started_by(queue_of(database), 2)
    queue = queue_of(database)
    assert (queue.waiting, len(queue.exchanges), queue.bytes_held) == (3, 2, 10)
    assert started_by(queue, 1) == ["c"]


def test_ended_exchanges_are_counted_and_their_rows_go_or_wait_again(
    database: TextDatabase,
) -> None:
    queue = queue_of(database)
    started_by(queue, 2)
    first, _ = queue.started
    settlement = ExchangeSettlement(queue.exchanges)
    settlement.receive_pubrec(1, b"pubrel")
    settlement.complete(queue.exchanges.receive_pubcomp(1))
    settlement.complete(None)
    settlement.lose_session()
    queue.apply(settlement)
    assert (queue.waiting, queue.to_remove, queue.bytes_to_remove) == (4, [first], 2)
    assert queue.counters == {"forwarded": 1, "unexpected_answers": 1, "republished": 1}
    assert started_by(queue, 9) == ["b", "c", "d", "e"]
    queue.committed()
    assert (queue.to_remove, queue.bytes_held) == ([], database.texts.totals()[1])


def test_what_a_transaction_adds_is_counted(database: TextDatabase) -> None:
    queue = queue_of(database)
    queue.add(2, 7)
    queue.add(-1, -3)
    assert (queue.waiting, queue.bytes_held) == (6, 14)
