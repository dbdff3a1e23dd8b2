"""Subscription options and identifiers, and retained messages for new subscriptions."""

from pathlib import Path

import pytest

from gateway.broker.core.limits import Limits
from gateway.broker.wire.packets import (
    Connect,
    Publish,
    Suback,
    Subscribe,
    Subscription,
    Unsuback,
    Unsubscribe,
)
from tests.broker.core.harness import Harness, payloads, publishes
from tests.broker.core.mqtt5 import connect, identifiers_of, publish, subscribe, subscriber
from tests.broker.core.topics.drawn import deep


@pytest.mark.parametrize("as_published", [False, True])
def test_a_retained_message_for_a_new_subscription_always_has_the_flag(
    harness: Harness, as_published: bool
) -> None:
    publish(harness, connect(harness, "p"), "t", b"x", 1, retain=True)
    client = connect(harness, "c")
    wanted = Subscription("t", 1, retain_as_published=as_published)
    (packet,) = publishes(subscribe(harness, client, wanted))
    assert packet.retain


@pytest.mark.statement("MQTT5-3.3.1-9", "MQTT5-3.3.1-10", "MQTT5-3.3.1-11", "MQTT5-3.8.4-4")
@pytest.mark.parametrize("way", ["same connection", "resumed", "cut"])
@pytest.mark.parametrize(
    ("handling", "first", "again"), [(0, True, True), (1, True, False), (2, False, False)]
)
def test_retain_handling_decides_whether_a_subscription_brings_retained_messages(
    harness: Harness, handling: int, first: bool, again: bool, way: str
) -> None:
    publish(harness, connect(harness, "p"), "t", b"x", 1, retain=True)
    client = connect(harness, "c")
    wanted = Subscription("t", 1, retain_handling=handling)
    assert bool(publishes(subscribe(harness, client, wanted))) is first
    if way != "same connection":
        harness.lose(client)
        if way == "cut":
            harness.cut()
        client = connect(harness, "c")
        client.take()
    assert bool(publishes(subscribe(harness, client, wanted))) is again


def test_retain_handling_1_counts_as_new_after_an_unsubscribe(harness: Harness) -> None:
    publish(harness, connect(harness, "p"), "t", b"x", 1, retain=True)
    client = connect(harness, "c")
    wanted = Subscription("t", 1, retain_handling=1)
    for _ in range(2):
        assert payloads(subscribe(harness, client, wanted)) == [b"x"]
        client.send(Unsubscribe(1, ["t"]))
        harness.commit()


@pytest.mark.statement("MQTT5-3.8.4-3")
def test_subscribing_again_replaces_identifier_and_options(harness: Harness) -> None:
    client = connect(harness, "c")
    publisher = connect(harness, "p")
    subscribe(harness, client, Subscription("t", 0), identifier=1)
    assert subscribe(harness, client, Subscription("t", 2), identifier=2) == [Suback(1, [2])]
    publish(harness, publisher, "t", b"x")
    (packet,) = publishes(client.take())
    assert (packet.qos, identifiers_of(packet)) == (1, [2])
    subscribe(harness, client, Subscription("t", 1))
    publish(harness, publisher, "t", b"x")
    (packet,) = publishes(client.take())
    assert packet.properties is None


@pytest.mark.statement("MQTT5-3.3.4-3")
@pytest.mark.parametrize("qos", [0, 1])
def test_a_retained_message_names_the_subscription_that_brought_it(
    harness: Harness, qos: int
) -> None:
    publish(harness, connect(harness, "p"), "t", b"x", 1, retain=True)
    client = connect(harness, "c")
    (packet,) = publishes(subscribe(harness, client, Subscription("t", qos), identifier=5))
    assert identifiers_of(packet) == [5]


@pytest.mark.statement(
    "MQTT5-3.8.4-1",
    "MQTT5-3.8.4-2",
    "MQTT5-3.8.4-5",
    "MQTT5-3.8.4-6",
    "MQTT5-3.8.4-7",
    "MQTT5-3.9.3-1",
    "MQTT5-3.9.3-2",
    "MQTT5-2.2.1-6",
)
def test_each_filter_has_its_reason_code_in_order(harness: Harness) -> None:
    harness.limits.max_subscriptions = 3
    harness.limits.max_topic_levels = 4
    client = connect(harness, "c")
    client.take()
    wanted = [("a", 2), ("b/c/d/e/f", 1), ("b", 0), ("c", 1), ("d", 1), ("a", 1)]
    client.send(Subscribe(77, [Subscription(name, qos) for name, qos in wanted]))
    harness.commit()
    assert client.take() == [Suback(77, [2, 0x8F, 0, 1, 0x97, 1])]


@pytest.mark.statement(
    "MQTT5-3.10.4-1",
    "MQTT5-3.10.4-2",
    "MQTT5-3.10.4-4",
    "MQTT5-3.10.4-5",
    "MQTT5-3.10.4-6",
    "MQTT5-3.11.3-1",
    "MQTT5-3.11.3-2",
)
def test_unsubscribe_states_of_each_filter_whether_there_was_one(harness: Harness) -> None:
    client = connect(harness, "c")
    subscribe(harness, client, Subscription("a", 1), Subscription("a/+", 1))
    client.send(Unsubscribe(78, ["a", "a/b", "a", "A", "a/+"]))
    harness.commit()
    assert client.take() == [Unsuback(78, [0, 0x11, 0x11, 0x11, 0])]
    publish(harness, connect(harness, "p"), "a", b"x")
    assert client.take() == []


@pytest.mark.statement("MQTT5-3.10.4-3")
def test_what_was_queued_before_an_unsubscribe_still_comes(harness: Harness) -> None:
    client = connect(harness, "c", receive_maximum=1)
    subscribe(harness, client, Subscription("t", 1))
    harness.lose(client)
    publisher = connect(harness, "p")
    for payload in (b"1", b"2", b"3"):
        publish(harness, publisher, "t", payload)
    harness.checkpoint()
    harness.cut()
    client = harness.open_connection(5)
    # In one segment with CONNECT, before any queued message could be sent.
    client.send(Connect(5, "c", False, 0, None, None, None), Unsubscribe(1, ["t"]))
    harness.commit()
    packets = client.take()
    assert Unsuback(1, [0]) in packets
    assert payloads(packets) == [b"1", b"2", b"3"]
    publish(harness, connect(harness, "p"), "t", b"4")
    assert payloads(client.take()) == []


@pytest.mark.statement("MQTT5-4.7.2-1", "MQTT5-4.7.1-1", "MQTT5-4.7.1-2", "MQTT5-3.3.2-3")
@pytest.mark.parametrize(
    ("topic_filter", "expected"),
    [
        ("#", ["/t", "t", "t/1", "t/1/x"]),
        ("+", ["t"]),
        ("+/+", ["/t", "t/1"]),
        ("t/#", ["t", "t/1", "t/1/x"]),
        ("$up/#", ["$up", "$up/1"]),
        ("$up/+", ["$up/1"]),
        ("+/1", ["t/1"]),
        ("/+", ["/t"]),
    ],
)
def test_wildcards_select_retained_messages_as_they_select_live_ones(
    harness: Harness, topic_filter: str, expected: list[str]
) -> None:
    publisher = connect(harness, "p")
    live = subscriber(harness, "live", topic_filter, 1)
    for topic in ("t", "t/1", "t/1/x", "/t", "$up", "$up/1"):
        publish(harness, publisher, topic, b"x", 1, retain=True)
    late = connect(harness, "late")
    stored = publishes(subscribe(harness, late, Subscription(topic_filter, 1)))
    assert sorted(packet.topic for packet in stored) == expected
    assert sorted(packet.topic for packet in publishes(live.take())) == expected


@pytest.mark.statement("MQTT5-4.7.3-4", "MQTT5-1.5.4-3")
def test_topics_are_compared_character_by_character(harness: Harness) -> None:
    client = subscriber(harness, "c", "\ufeffa\u030a", 1)
    publisher = connect(harness, "p")
    for topic in ("a\u030a", "\ufeff\u00e5", "\ufeffA\u030a", "\ufeffa\u030a"):
        publish(harness, publisher, topic, topic.encode())
    assert payloads(client.take()) == ["\ufeffa\u030a".encode()]


def test_a_subscriber_to_everything_gets_each_retained_message_once(harness: Harness) -> None:
    publisher = connect(harness, "p", expiry=0)
    for number in range(2_000):
        publisher.send(Publish(f"r/{number}", b"x", 0, True, False, 0))
    harness.commit()
    client = connect(harness, "c")
    packets = publishes(subscribe(harness, client, Subscription("#", 1)))
    for _ in range(5):
        harness.advance(0.01)
        packets += publishes(client.take())
    assert sorted(packet.topic for packet in packets) == sorted(f"r/{n}" for n in range(2_000))


def test_subscriptions_beyond_their_bytes_are_refused_and_none_is_lost_by_a_smaller_limit(
    tmp_path: Path,
) -> None:
    limits = Limits()
    limits.max_subscription_bytes = 200_000
    harness = Harness(tmp_path, limits)
    client = connect(harness, "c")
    client.send(Subscribe(1, [Subscription(deep(number, "a"), 0) for number in range(20)]))
    harness.commit()
    suback = client.take()[-1]
    assert isinstance(suback, Suback)
    granted = suback.reason_codes.count(0)
    assert 3 < granted < 7
    assert suback.reason_codes == [0] * granted + [0x97] * (20 - granted)
    assert harness.broker.statistics.errors == {"max_subscription_bytes": 20 - granted}
    harness.limits.max_subscription_bytes = 1_024
    harness.restart()
    assert len(harness.session("c").subscriptions) == granted
    client = connect(harness, "c")
    client.take()
    client.send(Subscribe(2, [Subscription(deep(0, "a"), 1), Subscription("new", 1)]))
    harness.commit()
    assert client.take() == [Suback(2, [1, 0x97])], "one that is there may be replaced"
    harness.close()


def test_filters_whose_wildcards_stand_in_too_many_ways_are_refused(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.broker.core.rules.subscribe.subscribe.WILDCARD_PATTERNS_MAX", 10)
    client = connect(harness, "c")
    client.take()
    same = [Subscription(f"{name}/+/x", 0) for name in "abcdefghijklmnop"]
    others = [
        Subscription("+/a/b/c/d", 0),
        Subscription("a/+/+/+/+/+", 0),
        Subscription("z/+/y", 0),
    ]
    client.send(Subscribe(1, same + others))
    harness.commit()
    codes = [0] * len(same) + [0, 0x97, 0]
    assert client.take() == [Suback(1, codes)]
    assert harness.broker.statistics.errors == {"wild_patterns": 1}
