"""Full queues slow their publishers: while a client reads, no acknowledged message is dropped."""

from pathlib import Path

import pytest

from gateway.broker.core.limits import (
    DEFERRED_BYTES_MAX,
    DRAIN_SECONDS_MAX,
    PACE_SECONDS,
    READING_SECONDS,
    Limits,
)
from gateway.broker.core.when_full import WhenFull
from gateway.broker.wire.packets import (
    Packet,
    Properties,
    Puback,
    Publish,
    Pubrec,
    Pubrel,
    Subscribe,
    Subscription,
    Unsubscribe,
)
from tests.broker.core.draining import answer_all
from tests.broker.core.harness import Client, Harness, payloads, publishes

ROOM = 10


@pytest.fixture
def harness(tmp_path: Path) -> Harness:
    """Return a broker whose sessions queue at most ten messages and have one in flight."""
    limits = Limits()
    limits.max_mqueue_len = ROOM
    limits.max_inflight = 1
    return Harness(tmp_path, limits)


def publish(number: int, qos: int = 1, topic: str = "t") -> Publish:
    return Publish(topic, b"%d" % number, qos, False, False, number)


def send(harness: Harness, client: Client, *packets: Packet) -> list[Packet]:
    client.send(*packets)
    harness.commit()
    return client.take()


def publisher_of(harness: Harness, version: int = 4, name: str = "p") -> Client:
    client = harness.connect(name, clean=True, version=version)
    client.take()
    return client


def texts(*numbers: int) -> list[bytes]:
    return [b"%d" % number for number in numbers]


def everything(harness: Harness, client: Client) -> list[bytes]:
    """Acknowledge until no more messages arrive, and let waiting publishers continue in between."""
    found: list[bytes] = []
    while part := answer_all(harness, client):
        found += part
        harness.advance(0)
    return found


@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize("version", [4, 5])
def test_a_reading_client_s_publishers_wait_and_nothing_is_dropped(
    harness: Harness, version: int, clean: bool
) -> None:
    subscriber = harness.subscriber("s", "t", 1, clean=clean)
    publisher = publisher_of(harness, version)
    numbers = range(1, 41)
    acknowledged = send(harness, publisher, *map(publish, numbers))
    # One message is in flight, and half of the queue is full.
    assert acknowledged == [Puback(number) for number in range(1, 7)]
    assert everything(harness, subscriber) == texts(*numbers)
    assert publisher.take() == [Puback(number) for number in numbers[6:]]
    assert harness.broker.statistics.dropped == {}
    assert harness.broker.statistics.errors == {}


def test_qos_2_waits_for_pubrec_and_what_is_released_goes_beyond_the_limit(
    harness: Harness,
) -> None:
    subscriber = harness.subscriber("s", "t", 2)
    publishers = [publisher_of(harness, name=f"p{number}") for number in range(8)]
    for index, publisher in enumerate(publishers):
        for number in (1, 2, 3):
            packet = Publish("t", b"%d-%d" % (index, number), 2, False, False, number)
            assert send(harness, publisher, packet) == [Pubrec(number)]
    for publisher in publishers:
        send(harness, publisher, *map(Pubrel, (1, 2, 3)))
    assert harness.session("s").queued_count == 23
    assert send(harness, publishers[0], publish(9, 2)) == [], "one more is not taken"
    answer_all(harness, subscriber)
    harness.advance(0)
    assert Pubrec(9) in publishers[0].take()
    assert harness.broker.statistics.dropped == {}


def test_a_client_that_is_away_drops_at_its_limit_and_is_noted_long_before(
    harness: Harness,
) -> None:
    harness.lose(harness.subscriber("s", "t", 1))
    publisher = publisher_of(harness)
    send(harness, publisher, *map(publish, range(1, 8)))
    assert not harness.broker.statistics.notices
    send(harness, publisher, publish(8))
    ((sentence, client_id),) = harness.broker.statistics.notices
    assert sentence == (
        "client 's': its queue is 80 % full (8 messages, 32 bytes): its client is away. When it "
        "is full, new messages for it are dropped"
    )
    assert client_id == "s"
    acknowledged = send(harness, publisher, *map(publish, range(9, 14)))
    assert acknowledged == [Puback(number) for number in range(9, 14)]
    assert harness.broker.statistics.dropped == {"queue_full": 3}
    assert everything(harness, harness.connect("s")) == texts(*range(1, 11))


def test_a_client_that_reads_nothing_stops_others_for_a_few_seconds(harness: Harness) -> None:
    harness.subscriber("s", "t", 1)
    publisher = publisher_of(harness)
    assert len(send(harness, publisher, *map(publish, range(1, 21)))) == 6
    harness.advance(READING_SECONDS - 0.1)
    harness.advance(0)
    assert publisher.take() == []
    for _ in range(3):
        harness.advance(1)
        harness.advance(0)
    assert len(publisher.take()) == 14
    assert harness.broker.statistics.dropped == {"queue_full": 9}
    assert not harness.broker.limits.queues_slow


def test_a_client_that_comes_back_to_a_long_queue_has_to_read_before_others_wait(
    harness: Harness,
) -> None:
    harness.lose(harness.subscriber("s", "t", 1))
    publisher = publisher_of(harness)
    send(harness, publisher, *map(publish, range(1, 9)))
    subscriber = harness.connect("s")
    assert send(harness, publisher, publish(9)) == [Puback(9)]
    (first,) = publishes(subscriber.take())
    subscriber.send(Puback(first.packet_id))
    harness.advance(0)
    assert send(harness, publisher, publish(10)) == []
    everything(harness, subscriber)
    assert publisher.take() == [Puback(10)]


def test_a_client_that_reads_far_too_slowly_counts_as_away(harness: Harness) -> None:
    harness.limits.max_mqueue_len = 20_000
    subscriber = harness.subscriber("s", "t", 1)
    publisher = publisher_of(harness)
    send(harness, publisher, *map(publish, range(1, 10_010)))
    send(harness, publisher, publish(10_010))
    (waiting,) = publishes(subscriber.take())
    packet_id = waiting.packet_id
    assert DRAIN_SECONDS_MAX / 10_000 * PACE_SECONDS > 2, "a message each three seconds is too few"
    assert harness.broker.limits.queues_slow
    for _ in range(int(PACE_SECONDS) // 3 + 2):
        harness.advance(3)
        answers = publishes(send(harness, subscriber, Puback(packet_id)))
        packet_id = answers[0].packet_id
    assert not harness.broker.limits.queues_slow


def test_a_session_that_goes_lets_its_publishers_go_on(harness: Harness) -> None:
    subscriber = harness.subscriber("s", "t", 1)
    publisher = publisher_of(harness)
    assert len(send(harness, publisher, *map(publish, range(1, 9)))) == 6
    harness.lose(subscriber)
    harness.advance(0)
    assert publisher.take() == [Puback(7), Puback(8)]
    assert not harness.broker.limits.queues_slow


def test_publishers_to_other_topics_do_not_wait(harness: Harness) -> None:
    harness.subscriber("s", "t", 1)
    publisher = publisher_of(harness)
    send(harness, publisher, *map(publish, range(1, 9)))
    other = publisher_of(harness, name="q")
    assert send(harness, other, publish(1, topic="u")) == [Puback(1)]
    assert send(harness, other, publish(2, topic="t")) == []


def test_what_comes_after_messages_that_wait_does_not_overtake_them(harness: Harness) -> None:
    subscriber = harness.subscriber("s", "t", 1)
    publisher = publisher_of(harness)
    send(harness, publisher, *map(publish, range(1, 10)))
    seen = answer_all(harness, subscriber)
    assert not harness.broker.limits.queues_slow
    assert publisher.connection.deferred.packets, "their timer has not come up yet"
    publisher.send(publish(10))
    harness.advance(0)
    assert seen + everything(harness, subscriber) == texts(*range(1, 11))


def test_a_publisher_whose_topic_is_not_wanted_any_more_goes_on(harness: Harness) -> None:
    subscriber = harness.subscriber("s", "t", 1)
    subscriber.send(Subscribe(2, [Subscription("u", 1)]))
    publisher = publisher_of(harness)
    send(harness, publisher, *map(publish, range(1, 8)))
    assert send(harness, publisher, publish(8)) == []
    send(harness, subscriber, Unsubscribe(3, ["t"]))
    harness.advance(1)
    assert publisher.take() == [Puback(7), Puback(8)]


def test_publishers_have_their_turn_one_after_the_other(harness: Harness) -> None:
    subscriber = harness.subscriber("s", "t", 1)
    publishers = [publisher_of(harness, name=f"p{number}") for number in range(4)]
    for publisher in publishers:
        send(harness, publisher, *map(publish, range(1, 30)))
    for _ in range(60):
        for packet in publishes(subscriber.take()):
            subscriber.send(Puback(packet.packet_id))
        harness.advance(0)
    counts = [len(publisher.take()) for publisher in publishers[1:]]
    assert min(counts) > 0, counts


@pytest.mark.parametrize("version", [4, 5])
def test_a_client_that_waits_for_itself_is_not_stopped(harness: Harness, version: int) -> None:
    client = harness.connect("s", version=version)
    client.send(Subscribe(1, [Subscription("t", 1)]))
    client.take()
    large = bytes(DEFERRED_BYTES_MAX // 4)
    for number in range(1, 16):
        client.send(Publish("t", large, 1, False, False, number))
        harness.commit()
        if client.connection.deferred.is_full:
            break
    assert harness.broker.statistics.errors == {"queue_circle": 1}
    count = number
    harness.advance(0)
    assert not client.closed
    assert not client.connection.deferred.packets
    assert sum(isinstance(packet, Puback) for packet in client.take()) == count


def test_a_topic_alias_stands_for_what_it_stood_for_when_its_message_came(
    harness: Harness,
) -> None:
    subscriber = harness.subscriber("s", "t", 1)
    other = harness.subscriber("o", "u", 0)
    publisher = publisher_of(harness, 5)
    send(harness, publisher, *map(publish, range(1, 7)))

    def aliased(topic: str, payload: bytes, qos: int, number: int) -> Publish:
        properties = Properties()
        properties.topic_alias = 1
        return Publish(topic, payload, qos, False, False, number, properties)

    assert send(harness, publisher, aliased("t", b"waits", 1, 7)) == []
    send(harness, publisher, aliased("u", b"new", 0, 0))
    assert payloads(other.take()) == [b"new"]
    assert everything(harness, subscriber)[-1] == b"waits"
    send(harness, publisher, aliased("", b"still new", 0, 0))
    assert payloads(other.take()) == [b"still new"]


def test_members_that_have_room_have_what_another_would_have_to_wait_for(
    harness: Harness,
) -> None:
    slow = harness.subscriber("slow", "$share/g/t", 1)
    harness.subscriber("idle", "$share/g/t", 1)
    publisher = publisher_of(harness)
    acknowledged = send(harness, publisher, *map(publish, range(1, 31)))
    assert len(acknowledged) == 12, "each has one in flight and half of its queue"
    everything(harness, slow)
    assert len(publisher.take()) == 18
    assert harness.session("idle").queued_count == 5
    assert harness.broker.statistics.dropped == {}


def test_clients_without_a_user_do_not_slow_those_who_have_one(harness: Harness) -> None:
    harness.subscriber("s", "t", 1)
    publisher = publisher_of(harness)
    harness.broker.authenticate(True, [])
    harness.broker.assign_owner(harness.session("p"), "meter")
    assert len(send(harness, publisher, *map(publish, range(1, 9)))) == 8


def test_another_policy_lets_publishers_go_on(harness: Harness) -> None:
    harness.subscriber("s", "t", 1)
    publisher = publisher_of(harness)
    send(harness, publisher, *map(publish, range(1, 9)))
    harness.limits.when_full_of = lambda _: WhenFull.DROP_NEWEST
    harness.broker.limits_changed(harness.now)
    harness.advance(0)
    assert publisher.take() == [Puback(7), Puback(8)]
