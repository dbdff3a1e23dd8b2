"""Readings on disk that wait for an exchange."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from firmware_bridge.outbox.queue import Queue
from firmware_bridge.outbox.store import OutboxStore
from firmware_bridge.readings.publications import Publication

from gateway.process.mqtt_client.exchanges import Exchanges
from tests.bridge.outbox.bench import readings


@pytest.fixture
def store(tmp_path: Path) -> Iterator[OutboxStore]:
    store = OutboxStore(tmp_path / "outbox.db")
    store.begin()
    store.insert(readings(*"abcde"))
    store.commit()
    store.count = 5
    yield store
    store.close()


def payloads(queue: Queue, count: int) -> list[bytes]:
    return [each.message.payload for each in queue.start(count)]


def test_readings_are_started_in_order_each_once(store: OutboxStore) -> None:
    queue = Queue(store, Exchanges(window=10))
    store.begin()
    first = payloads(queue, 2)
    second = payloads(queue, 9)
    assert (first, second) == ([b"a", b"b"], [b"c", b"d", b"e"])
    assert (queue.start(1), queue.waiting) == ([], 0)


def test_a_start_that_was_not_committed_is_made_again(store: OutboxStore) -> None:
    exchanges: Exchanges[Publication] = Exchanges(window=10)
    queue = Queue(store, exchanges)
    store.begin()
    queue.take_back(queue.start(3))
    assert (queue.waiting, len(exchanges)) == (5, 0)
    assert payloads(queue, 3) == [b"a", b"b", b"c"]
    queue.take_back(queue.start(0))
    assert payloads(queue, 1) == [b"d"], "an empty start undoes nothing"


def test_readings_of_exchanges_that_are_over_come_first_again(store: OutboxStore) -> None:
    exchanges: Exchanges[Publication] = Exchanges(window=10)
    queue = Queue(store, exchanges)
    store.begin()
    queue.start(3)
    queue.put_back(exchanges.forget_all())
    assert queue.waiting == 5
    assert payloads(queue, 5) == [b"a", b"b", b"c", b"d", b"e"]


def test_what_an_earlier_run_has_in_flight_is_not_started_again(store: OutboxStore) -> None:
    store.begin()
    Queue(store, Exchanges(window=10)).start(2)
    store.commit()
    resumed: Exchanges[Publication] = Exchanges(window=10)
    resumed.resume(store.in_flight())
    queue = Queue(store, resumed)
    assert queue.waiting == 3
    store.begin()
    assert payloads(queue, 1) == [b"c"]
