"""Attacks by clients that must not succeed."""

from pathlib import Path

import pytest

from gateway.broker.core.limits import FORWARDED_BYTES_MAX, Limits
from gateway.broker.wire.packets import (
    Publish,
    Subscribe,
    Subscription,
    Unsubscribe,
)
from tests.broker.core.harness import Harness, payloads, publishes
from tests.broker.core.mqtt5 import connect, properties, subscribe

DEEP = "/".join("a" * 5_000)


def test_topics_may_have_as_many_levels_as_an_operator_allows(tmp_path: Path) -> None:
    limits = Limits()
    limits.max_topic_levels = 65_535
    harness = Harness(tmp_path, limits)
    subscriber = harness.subscriber("s", DEEP, 1)
    publisher = harness.connect("p")
    for number in (1, 2):
        publisher.send(Publish(DEEP, b"%d" % number, 1, True, False, number))
    harness.commit()
    assert payloads(subscriber.take()) == [b"1", b"2"]
    wild = "/".join("+" * 5_000)
    subscriber.send(Subscribe(2, [Subscription(wild, 0)]))
    harness.commit()
    for _ in range(20):
        harness.advance(0.0)  # the levels take more than one slice
    assert payloads(subscriber.take()) == [b"2"]
    harness.restart()
    assert harness.broker.state.tree.retained_count == 1
    harness.close()


@pytest.mark.parametrize("name", ["$share/x", "$share/", "$share//t", "$share/g/", "$share/a+/t"])
def test_an_older_client_may_subscribe_to_what_only_looks_like_a_shared_subscription(
    harness: Harness, name: str
) -> None:
    if "+" in name:
        name = "$share/+/t"  # 3.1.1 requires that a wildcard is a whole level
    client = harness.subscriber("c", name, 1)
    harness.subscriber("watch", "t", 1)
    publisher = harness.connect("p")
    publisher.send(Publish("t", b"x", 1, False, False, 1))
    harness.commit()
    assert payloads(client.take()) == []
    harness.restart()
    assert list(harness.session("c").subscriptions) == [name]
    client = harness.connect("c")
    client.send(Unsubscribe(1, [name]))
    harness.commit()
    assert harness.broker.state.tree.subscription_count == 1


def test_a_topic_alias_does_not_make_megabytes_of_a_few_bytes(harness: Harness) -> None:
    greedy = connect(harness, "greedy", expiry=0)
    subscribe(harness, greedy, Subscription("#", 0))
    publisher = connect(harness, "p", expiry=0)
    topic = "x" * 60_000
    publisher.send(Publish(topic, b"", 0, False, False, 0, properties(topic_alias=1)))
    short = Publish("", b"now", 0, False, False, 0, properties(topic_alias=1))
    publisher.send(*[short] * 2_000)
    harness.commit()
    received = publishes(greedy.take())
    assert received
    assert len(received) * len(topic) < FORWARDED_BYTES_MAX + 100_000
    assert harness.broker.statistics.dropped["slow_reader"] > 1_900
    publisher.send(short)
    harness.commit()
    assert len(publishes(greedy.take())) == 1, "the next turn is a new one"
