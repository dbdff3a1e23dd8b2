"""On a full disk the broker accepts nothing new, and continues to deliver what it has."""

from pathlib import Path

import pytest

from gateway.broker.wire.codes import QUOTA_EXCEEDED
from gateway.broker.wire.packets import (
    Connack,
    Properties,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
    Unsuback,
    Unsubscribe,
)
from tests.broker.core.harness import Client, Harness, payloads, publishes


@pytest.fixture
def full(harness: Harness) -> Harness:
    """Return a broker whose disk has just become full, with a subscriber that is away."""
    harness.lose(harness.subscriber("s", "t", 1))
    return harness


def fill(harness: Harness) -> None:
    harness.broker.set_disk_full(True)


def give_room(harness: Harness) -> list[Client]:
    harness.broker.set_disk_full(False)
    resumed = [harness.clients[connection] for connection in harness.broker.effects.resumed]
    harness.commit()
    return resumed


def publish(qos: int, packet_id: int, payload: bytes = b"x", topic: str = "t") -> Publish:
    return Publish(topic, payload, qos, False, False, packet_id)


def expiring() -> Properties:
    properties = Properties()
    properties.session_expiry_interval_seconds = 100
    return properties


@pytest.mark.parametrize("qos", [1, 2])
def test_a_5_0_publisher_receives_quota_exceeded(full: Harness, qos: int) -> None:
    publisher = full.connect("p", version=5)
    publisher.take()
    fill(full)
    next_sequence = full.broker.batch.next_sequence
    publisher.send(publish(qos, 1))
    full.commit()
    answer = Puback(1, QUOTA_EXCEEDED) if qos == 1 else Pubrec(1, QUOTA_EXCEEDED)
    assert publisher.take() == [answer]
    assert full.broker.batch.next_sequence == next_sequence, "a refusal takes room"
    give_room(full)
    publisher.send(publish(1, 1))
    full.commit()
    assert publisher.take() == [Puback(1, 0)]
    assert payloads(full.connect("s").take()) == [b"x"]


def test_a_topic_alias_counts_that_came_with_a_message_that_was_refused(full: Harness) -> None:
    publisher = full.connect("p", version=5)
    publisher.take()
    fill(full)
    named = publish(1, 1)
    named.properties = Properties()
    named.properties.topic_alias = 1
    publisher.send(named)
    give_room(full)
    short = publish(1, 2, b"y", "")
    short.properties = Properties()
    short.properties.topic_alias = 1
    publisher.send(short)
    full.commit()
    assert publisher.take() == [Puback(1, QUOTA_EXCEEDED), Puback(2, 0)]
    assert payloads(full.connect("s").take()) == [b"y"]


def test_before_5_0_a_message_waits_unacknowledged_and_in_order_until_there_is_room(
    full: Harness,
) -> None:
    publisher = full.connect("p")
    publisher.take()
    fill(full)
    publisher.send(publish(1, 1, b"1"), publish(1, 2, b"2"), publish(2, 3, b"3"))
    full.commit()
    assert publisher.take() == []
    assert give_room(full) == [publisher]
    assert publisher.take() == [Puback(1), Puback(2), Pubrec(3)]
    assert payloads(full.connect("s").take()) == [b"1", b"2"]


def test_what_needs_no_disk_goes_on(full: Harness) -> None:
    reader = full.subscriber("r", "live", 1, clean=True)
    publisher = full.connect("p", clean=True)
    publisher.take()
    fill(full)
    publisher.send(publish(0, 0, b"0", "live"), publish(1, 1, b"1", "live"))
    full.commit()
    assert publisher.take() == [Puback(1)]
    assert payloads(reader.take()) == [b"0", b"1"]


def test_qos_0_that_would_have_to_be_kept_is_dropped_and_counted(full: Harness) -> None:
    publisher = full.connect("p", clean=True)
    fill(full)
    publisher.send(publish(0, 0, b"0", "sensors/a/b"))
    assert full.broker.statistics.dropped == {"disk_full": 1}


def test_what_waits_is_delivered_and_what_is_held_is_released(full: Harness) -> None:
    publisher = full.connect("p")
    publisher.send(publish(1, 1, b"1"), publish(2, 2, b"2"))
    full.commit()
    publisher.take()
    fill(full)
    publisher.send(publish(2, 2, b"2"), Pubrel(2))
    full.commit()
    assert publisher.take() == [Pubrec(2), Pubcomp(2)], "a repeat, and its release"
    subscriber = full.connect("s")
    taken = publishes(subscriber.take())
    assert [packet.payload for packet in taken] == [b"1", b"2"]
    subscriber.send(*(Puback(packet.packet_id) for packet in taken))
    full.commit()
    assert not full.session("s").outbound


@pytest.mark.parametrize(("version", "code"), [(4, 3), (5, QUOTA_EXCEEDED)])
def test_a_new_persistent_session_is_refused_and_a_clean_one_is_not(
    full: Harness, version: int, code: int
) -> None:
    fill(full)
    properties = expiring() if version == 5 else None
    refused = full.connect("new", version=version, properties=properties)
    assert refused.take() == [Connack(False, code)]
    assert refused.closed
    assert isinstance(full.connect("s").take()[0], Connack)
    accepted = full.connect("new", clean=True, version=version).take()[0]
    assert isinstance(accepted, Connack)
    assert accepted.reason_code == 0


@pytest.mark.parametrize(("version", "code"), [(4, 0x80), (5, QUOTA_EXCEEDED)])
def test_a_subscription_that_would_have_to_be_kept_is_refused(
    full: Harness, version: int, code: int
) -> None:
    properties = expiring() if version == 5 else None
    client = full.connect("c", version=version, properties=properties)
    client.send(Subscribe(1, [Subscription("a", 1)]))
    full.commit()
    client.take()
    fill(full)
    client.send(Subscribe(2, [Subscription("b", 1)]), Unsubscribe(3, ["a"]))
    full.commit()
    suback, unsuback = client.take()
    assert isinstance(suback, Suback)
    assert suback.reason_codes == [code]
    assert isinstance(unsuback, Unsuback)
    assert full.session("c").subscriptions == {}


def test_a_clean_start_keeps_no_more_than_before(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    harness.lose(harness.subscriber("s", "t", 1))
    fill(harness)
    client = harness.connect("s", version=5, clean=True, properties=expiring())
    answer = client.take()[0]
    assert isinstance(answer, Connack)
    assert answer.reason_code == 0
    harness.close()
