"""The queues of clean sessions are in memory, with one limit for all of them together."""

from gateway.broker.core.when_full import WhenFull
from tests.broker.core.draining import answer_all
from tests.broker.core.harness import Harness
from tests.broker.core.rules.deliver.test_backpressure import (
    everything,
    harness,
    publish,
    publisher_of,
    send,
    texts,
)

__all__ = ["harness"]


def test_the_queues_of_clean_sessions_share_memory_and_the_largest_gives_way(
    harness: Harness,
) -> None:
    harness.limits.max_mqueue_len = 1_000_000
    harness.limits.max_queue_memory_bytes = 256 * 1024
    harness.limits.when_full_of = lambda _: WhenFull.DROP_NEWEST
    large = harness.subscriber("large", "t", 1, clean=True)
    small = harness.subscriber("small", "u", 1, clean=True)
    publisher = publisher_of(harness)
    for number in range(1, 1_001):
        send(harness, publisher, publish(number))
    memory = harness.broker.state.memory_queues
    assert memory.bytes_count <= harness.limits.max_queue_memory_bytes
    assert harness.broker.statistics.dropped["queue_memory"] > 500
    kept = harness.session("large").queued_count
    for number in range(1, 51):
        send(harness, publisher, publish(number, topic="u"))
    assert everything(harness, small) == texts(*range(1, 51)), "who holds little loses nothing"
    assert harness.session("large").queued_count < kept
    found = everything(harness, large)
    assert found == texts(*range(1, len(found) + 1)), "its newest messages were dropped"
    assert memory.bytes_count == 0
    harness.lose(large)
    harness.lose(small)
    assert not [each for each in memory.sessions if each.client_id in ("large", "small")]


def test_clean_sessions_that_share_little_memory_slow_their_publishers(harness: Harness) -> None:
    harness.limits.max_mqueue_len = 1_000_000
    harness.limits.max_queue_memory_bytes = 64 * 1024
    subscribers = [harness.subscriber(f"s{each}", "t", 1, clean=True) for each in range(3)]
    publisher = publisher_of(harness)
    numbers = range(1, 301)
    assert len(send(harness, publisher, *map(publish, numbers))) < 30
    found: list[list[bytes]] = [[], [], []]
    for _ in range(400):
        for each, subscriber in zip(found, subscribers, strict=True):
            each.extend(answer_all(harness, subscriber))
        harness.advance(0)
    assert found == 3 * [texts(*numbers)]
    assert harness.broker.statistics.dropped == {}
