"""What a client must not be able to do to the broker, whatever it sends."""

from pathlib import Path

import pytest

from gateway.core.effects import AuthenticationAnswer
from gateway.core.limits import FORWARDED_BYTES_MAX, SLOW_READER_SECONDS, Limits
from gateway.wire.packets import (
    Connack,
    Connect,
    Publish,
    Subscribe,
    Subscription,
    Unsubscribe,
    Will,
)
from tests.core.harness import Harness, payloads, publishes
from tests.core.mqtt5 import connect, properties, subscribe

DEEP = "/".join("a" * 5_000)


def test_a_will_with_too_many_topic_levels_is_refused(harness: Harness) -> None:
    client = harness.connect("c", will=Will(DEEP, b"x", 1, True))
    assert client.take() == [Connack(False, 5)]
    assert client.closed
    assert harness.broker.state.wills == {}
    assert harness.broker.statistics.errors == {"max_topic_levels": 1}


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
        harness.advance(0.0)  # so many levels take more than one slice
    assert payloads(subscriber.take()) == [b"2"]
    harness.restart()
    assert harness.broker.state.tree.retained_count == 1
    harness.close()


def test_a_client_that_falls_silent_while_its_password_is_checked_is_still_watched(
    harness: Harness,
) -> None:
    harness.broker.rules.core.authenticates = True
    client = harness.open_connection()
    client.send(Connect(4, "c", False, 1, None, "user", b"password"))
    harness.now += 5  # a queue of passwords to check
    harness.broker.authenticated(client.connection, AuthenticationAnswer(0, None, "u"), harness.now)
    harness.commit()
    assert not client.closed
    harness.advance(1.6)
    assert client.closed


def test_the_silence_of_a_client_that_is_not_being_read_from_does_not_count(
    harness: Harness,
) -> None:
    client = harness.connect("c", keep_alive_seconds=10)
    harness.broker.set_heard(client.connection, False, harness.now)
    harness.advance(14)
    harness.advance(14)
    assert not client.closed
    harness.broker.set_heard(client.connection, True, harness.now)
    harness.advance(14)
    assert not client.closed
    harness.advance(2)
    assert client.closed


def test_a_client_that_has_stopped_reading_is_closed_in_the_end(harness: Harness) -> None:
    client = harness.connect("c")
    for _ in range(3):
        harness.broker.set_writable(client.connection, False, harness.now)
        harness.advance(SLOW_READER_SECONDS - 1)
        harness.broker.set_writable(client.connection, True, harness.now)
    assert len(harness.broker.timers.heap) <= 2
    assert not client.closed
    harness.broker.set_writable(client.connection, False, harness.now)
    harness.advance(SLOW_READER_SECONDS - 1)
    assert not client.closed
    harness.advance(1)
    assert client.closed
    assert harness.broker.statistics.errors == {"slow_reader": 1}


def test_a_clock_that_jumps_by_years_ends_no_session(tmp_path: Path) -> None:
    limits = Limits()
    limits.max_session_expiry_seconds = 3_600.0
    harness = Harness(tmp_path, limits)
    harness.lose(harness.connect("c"))
    harness.time_ms += 50 * 365 * 86_400_000  # the time server has answered
    harness.advance(1_800)
    assert "c" in harness.broker.state.sessions
    harness.advance(1_801)
    assert "c" not in harness.broker.state.sessions
    harness.close()


def test_retained_messages_take_no_more_memory_than_allowed(tmp_path: Path) -> None:
    limits = Limits()
    limits.max_retained_bytes = 6_000
    harness = Harness(tmp_path, limits)
    publisher = harness.connect("p")
    for number in range(1, 6):
        publisher.send(Publish(f"r/{number}", b"x" * 900, 1, True, False, number))
    harness.commit()
    assert sorted(harness.broker.state.retained) == ["r/1", "r/2", "r/3"]
    publisher.send(Publish("r/1", b"y" * 2_000, 1, True, False, 9))
    harness.commit()
    # Rather none than one that is out of date.
    assert sorted(harness.broker.state.retained) == ["r/2", "r/3"]
    assert harness.broker.statistics.errors == {"max_retained_bytes": 3}
    harness.checkpoint()
    harness.cut()
    retained = harness.broker.state.retained
    assert harness.broker.state.retained_bytes == sum(m.retained_bytes() for m in retained.values())
    publisher = harness.connect("p")
    for topic in list(retained):
        publisher.send(Publish(topic, b"", 1, True, False, 1))
    harness.commit()
    assert harness.broker.state.retained_bytes == 0
    harness.close()


@pytest.mark.parametrize("name", ["$share/x", "$share/", "$share//t", "$share/g/", "$share/a+/t"])
def test_an_older_client_may_subscribe_to_what_only_looks_like_a_shared_subscription(
    harness: Harness, name: str
) -> None:
    if "+" in name:
        name = "$share/+/t"  # a wildcard of its own level, as 3.1.1 wants it
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
