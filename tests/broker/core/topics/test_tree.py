"""Subscriptions by topic, compared with a plain scan of all filters, and the cache of routes."""

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.core.sessions.session import Session
from gateway.broker.core.sessions.subscription import Subscription
from gateway.broker.core.topics import tree as tree_module
from gateway.broker.core.topics.tree import TopicTree
from gateway.broker.wire.packets import (
    Publish,
    Subscribe,
)
from gateway.broker.wire.packets import Subscription as Wanted
from gateway.broker.wire.topics import matches
from tests.broker.core.harness import Harness, payloads
from tests.broker.core.mqtt5 import (
    connect,
    publish,
    subscriber,
)
from tests.broker.core.topics.drawn import filters, names


def subscriptions_of(tree: TopicTree, topic: str) -> dict[int, int]:
    return {target.session.number: target.qos for target in tree.route_of(topic).targets}


@given(st.lists(st.tuples(st.integers(1, 3), filters(), st.integers(0, 2))), names)
def test_a_route_is_what_a_scan_of_all_filters_finds(
    wanted: list[tuple[int, str, int]], topic: str
) -> None:
    tree = TopicTree([])
    sessions = {number: Session(number, str(number), False) for number in (1, 2, 3)}
    latest: dict[tuple[int, str], Subscription] = {}
    for number, topic_filter, qos in wanted:
        latest[number, topic_filter] = subscription = Subscription(topic_filter, qos, 0)
        tree.subscribe(sessions[number], subscription)
        tree.route_of(topic)  # this cached route must not be used after the next subscription
    expected: dict[int, int] = {}
    for (number, topic_filter), subscription in latest.items():
        if matches(topic_filter, topic):
            expected[number] = max(subscription.qos, expected.get(number, 0))
    assert subscriptions_of(tree, topic) == expected
    for (number, _), subscription in latest.items():
        tree.unsubscribe(sessions[number], subscription)
    assert subscriptions_of(tree, topic) == {}
    assert tree.filters.root.is_empty()
    assert tree.subscription_count == 0


def test_overlapping_filters_count_once_at_the_highest_qos() -> None:
    tree = TopicTree([])
    session = Session(1, "c", True)
    for topic_filter, qos in (("a/#", 0), ("a/+", 2), ("a/b", 1)):
        tree.subscribe(session, Subscription(topic_filter, qos, 0))
    assert subscriptions_of(tree, "a/b") == {1: 2}
    assert tree.route_of("a/b").durable


def test_topics_of_the_log_are_marked() -> None:
    tree = TopicTree(["sensors/#"])
    assert tree.route_of("sensors/a/b").logged
    assert not tree.route_of("other").logged


def test_routes_of_long_topics_do_not_pile_up(
    harness: Harness, traced: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tree_module, "ROUTES_BYTES_MAX", 1_000_000)
    client = harness.connect("c", clean=True)
    before, _ = tracemalloc.get_traced_memory()
    for number in range(200):
        topic = f"\N{GRINNING FACE}{number}" + "x" * 60_000
        client.send(Publish(topic, b"", 0, False, False, 0))
    after, _ = tracemalloc.get_traced_memory()
    assert after - before < 1_500_000, "without a bound in bytes: 48 MB"
    tree = harness.broker.state.tree
    assert 0 < tree.routes_bytes <= 1_000_000
    assert tree.routes_bytes > 4 * 60_000 * (len(tree.routes) - 1)


def test_a_route_to_many_counts_each_of_them() -> None:
    tree = tree_module.TopicTree([])
    for number in range(100):
        tree.subscribe(Session(number, str(number), False), Subscription("#", 0, number))
    tree.route_of("t")
    assert tree.routes_bytes > 100 * 300
    tree.unsubscribe(Session(0, "0", False), Subscription("#", 0, 0))
    tree.subscribe(Session(200, "200", False), Subscription("t", 0, 0))
    assert (tree.routes, tree.routes_bytes) == ({}, 0)


def test_subscribing_again_to_the_same_keeps_the_routes(harness: Harness) -> None:
    client = harness.subscriber("c", "#", 1)
    harness.broker.state.tree.route_of("t")
    client.send(Subscribe(2, [Wanted("#", 1)]))
    assert "t" in harness.broker.state.tree.routes
    client.send(Subscribe(3, [Wanted("#", 0)]))
    assert "t" not in harness.broker.state.tree.routes


@pytest.mark.statement("MQTT5-4.7.3-3")
def test_topics_of_65535_bytes_are_topics(harness: Harness) -> None:
    topic = "t" * 65_535
    client = subscriber(harness, "c", topic, 1)
    publish(harness, connect(harness, "p"), topic, b"x")
    assert payloads(client.take()) == [b"x"]
