"""Queues that refuse new messages: an acknowledged message is always kept for its sessions."""

from pathlib import Path

import pytest

from gateway.broker.core.limits import DEFERRED_BYTES_MAX, Limits
from gateway.broker.core.when_full import WhenFull
from gateway.broker.wire.codes import QUOTA_EXCEEDED
from gateway.broker.wire.packets import (
    Packet,
    Puback,
    Publish,
    Pubrec,
    Pubrel,
    Subscribe,
    Subscription,
    Will,
)
from tests.broker.core.draining import answer_all
from tests.broker.core.harness import Client, Harness, payloads, publishes
from tests.broker.core.permitting import NOT_AUTHORIZED, Rules


@pytest.fixture
def keeper(tmp_path: Path) -> Harness:
    """Return a broker with queues of three messages; those named `keep...` refuse when full."""
    limits = Limits()
    limits.max_mqueue_len = 3
    limits.when_full_of = when_full_of
    limits.queues_refuse = True
    harness = Harness(tmp_path, limits)
    harness.lose(harness.subscriber("keep", "t", 2))
    return harness


def when_full_of(client_id: str) -> WhenFull:
    return WhenFull.REFUSE if client_id.startswith("keep") else WhenFull.DROP_NEWEST


def publish(number: int, qos: int = 1, topic: str = "t") -> Publish:
    return Publish(topic, b"%d" % number, qos, False, False, number)


def send(harness: Harness, client: Client, *packets: Packet) -> list[Packet]:
    client.send(*packets)
    harness.commit()
    return client.take()


def connected(harness: Harness, client_id: str, version: int = 4) -> Client:
    client = harness.connect(client_id, clean=True, version=version)
    client.take()
    return client


def drained(harness: Harness, client: Client) -> list[bytes]:
    """Acknowledge until no more messages arrive, and return their payloads."""
    found: list[bytes] = []
    while part := answer_all(harness, client):
        found += part
        harness.advance(0)
    return found


@pytest.mark.parametrize("qos", [1, 2])
def test_a_5_0_publisher_is_refused_and_what_it_was_acknowledged_is_delivered(
    keeper: Harness, qos: int
) -> None:
    publisher = connected(keeper, "p", 5)
    for number in (1, 2, 3):
        (answer,) = send(keeper, publisher, publish(number, qos))
        assert isinstance(answer, (Puback, Pubrec))
        assert answer.reason_code == 0
        if qos == 2:
            send(keeper, publisher, Pubrel(number))
    refused = Puback(4, QUOTA_EXCEEDED) if qos == 1 else Pubrec(4, QUOTA_EXCEEDED)
    assert send(keeper, publisher, publish(4, qos)) == [refused]
    assert keeper.broker.statistics.errors == {"queue_refuses": 1}
    assert keeper.broker.statistics.publishes_refused == 1
    assert drained(keeper, keeper.connect("keep")) == [b"1", b"2", b"3"]
    assert keeper.broker.statistics.dropped == {}


def test_a_message_that_one_session_cannot_keep_reaches_none(keeper: Harness) -> None:
    other = keeper.subscriber("other", "t", 1)
    publisher = connected(keeper, "p", 5)
    for number in (1, 2, 3, 4):
        send(keeper, publisher, publish(number))
    assert payloads(other.take()) == [b"1", b"2", b"3"], "and it may send the 4th again"


def test_before_5_0_the_acknowledgement_waits_until_there_is_room(keeper: Harness) -> None:
    publisher = connected(keeper, "p")
    numbers = range(1, 9)
    assert send(keeper, publisher, *map(publish, numbers)) == [Puback(1), Puback(2), Puback(3)]
    keeper.advance(1.5)
    assert publisher.take() == [], "tried again, and there is no room still"
    assert drained(keeper, keeper.connect("keep")) == [b"%d" % number for number in numbers]
    assert publisher.take() == [Puback(number) for number in numbers[3:]]
    assert keeper.broker.statistics.dropped == {}


@pytest.mark.parametrize("cut", [False, True])
def test_what_is_released_later_goes_beyond_the_limit(keeper: Harness, cut: bool) -> None:
    publisher = keeper.connect("p")
    for number in (1, 2, 3, 4, 5):
        send(keeper, publisher, publish(number, 2))
    send(keeper, publisher, *map(Pubrel, (1, 2, 3, 4, 5)))
    if cut:
        keeper.cut()
    assert drained(keeper, keeper.connect("keep")) == [b"1", b"2", b"3", b"4", b"5"]


def test_room_for_a_repeat_is_not_asked_about(keeper: Harness) -> None:
    publisher = keeper.connect("p", version=5)
    for number in (1, 2, 3, 4):
        send(keeper, publisher, publish(number, 2))
    for number in (1, 2, 3):
        send(keeper, publisher, Pubrel(number))
    assert send(keeper, publisher, publish(4, 2)) == [Pubrec(4)]


def test_qos_0_is_dropped_as_anywhere(keeper: Harness) -> None:
    keeper.limits.mqueue_store_qos0 = True
    publisher = connected(keeper, "p")
    send(keeper, publisher, *map(publish, (1, 2, 3)))
    send(keeper, publisher, Publish("t", b"x", 0, False, False, 0))
    assert keeper.broker.statistics.dropped == {"queue_full": 1}
    assert drained(keeper, keeper.connect("keep")) == [b"1", b"2", b"3"]


def test_a_will_goes_beyond_the_limit(keeper: Harness) -> None:
    publisher = connected(keeper, "p")
    send(keeper, publisher, *map(publish, (1, 2, 3)))
    dying = keeper.connect("d", clean=True, will=Will("t", b"gone", 1, False))
    keeper.lose(dying)
    keeper.commit()
    assert drained(keeper, keeper.connect("keep")) == [b"1", b"2", b"3", b"gone"]


def test_one_message_is_taken_that_is_larger_than_the_queue(keeper: Harness) -> None:
    keeper.limits.max_mqueue_bytes = 10
    publisher = connected(keeper, "p", 5)
    large = Publish("t", bytes(100), 1, False, False, 1)
    assert send(keeper, publisher, large, large) == [Puback(1), Puback(1, QUOTA_EXCEEDED)]


def test_a_session_that_ends_lets_publishers_go_on(keeper: Harness) -> None:
    publisher = connected(keeper, "p")
    send(keeper, publisher, *map(publish, (1, 2, 3, 4)))
    keeper.broker.drop_session(keeper.session("keep"), keeper.now)
    keeper.advance(1)
    assert publisher.take() == [Puback(4)]


def test_other_policies_let_publishers_go_on(keeper: Harness) -> None:
    publisher = connected(keeper, "p")
    send(keeper, publisher, *map(publish, (1, 2, 3, 4)))
    keeper.limits.when_full_of = None
    keeper.limits.queues_refuse = False
    keeper.broker.limits_changed(keeper.now)
    keeper.advance(0)
    assert publisher.take() == [Puback(4)]
    assert keeper.broker.statistics.dropped == {"queue_full": 1}


def test_a_member_with_room_has_what_another_would_refuse(keeper: Harness) -> None:
    for name in ("keep-a", "keep-b"):
        keeper.lose(keeper.subscriber(name, "$share/g/u", 1))
    publisher = connected(keeper, "p", 5)
    codes: list[int] = []
    for number in range(1, 8):
        (answer,) = send(keeper, publisher, publish(number, topic="u"))
        assert isinstance(answer, Puback)
        codes.append(answer.reason_code)
    assert codes == [*6 * [0], QUOTA_EXCEEDED]
    assert [keeper.session(name).queued_count for name in ("keep-a", "keep-b")] == [3, 3]


def test_a_client_that_waits_for_itself_is_ended_and_comes_back(keeper: Harness) -> None:
    client = keeper.connect("keep")
    client.take()
    keeper.limits.max_inflight = 1
    for number in range(1, 5):
        send(keeper, client, publish(number))
    for number in range(5, 6_000):
        client.send(publish(number % 60_000))
        if client.closed:
            break
    assert client.closed
    assert keeper.broker.statistics.errors["queue_circle"] == 1
    assert not client.connection.deferred.packets
    # The acknowledged messages are still queued.
    assert drained(keeper, keeper.connect("keep")) == [b"1", b"2", b"3", b"4"]


def test_clients_that_wait_for_each_other_are_noticed(keeper: Harness) -> None:
    keeper.limits.max_inflight = 1
    first, second = keeper.connect("keep-1"), keeper.connect("keep-2")
    first.send(Subscribe(1, [Subscription("to-1", 1)]))
    second.send(Subscribe(1, [Subscription("to-2", 1)]))
    keeper.commit()
    large = bytes(DEFERRED_BYTES_MAX)
    for client, topic in ((first, "to-2"), (second, "to-1")):
        for number in range(1, 7):
            client.send(Publish(topic, large, 1, False, False, number))
            keeper.commit()
    assert [first.closed, second.closed] == [False, True]
    assert len(publishes(first.take())) >= 1


def test_who_may_not_publish_does_not_learn_whose_queue_is_full(keeper: Harness) -> None:
    publisher = connected(keeper, "p", 5)
    send(keeper, publisher, *map(publish, (1, 2, 3)))
    rules = Rules()
    rules.publish = {("p", "t")}
    keeper.broker.restrict(rules)
    assert send(keeper, publisher, publish(4)) == [Puback(4, NOT_AUTHORIZED)]
