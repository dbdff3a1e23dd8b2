"""The packets of one client delay the other clients by one slice at most."""

import pytest

from gateway.broker.core.work import SLICE_UNITS
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import (
    Pingreq,
    Pingresp,
    Publish,
    Subscribe,
    Subscription,
)
from tests.broker.core.harness import Harness, payloads, publishes
from tests.broker.core.mqtt5 import connect
from tests.broker.core.rules.subscribe.test_retained import retain_many
from tests.broker.core.slices import ONE_STEP_UNITS, slices_of


def test_a_flood_of_new_topics_below_wildcards_is_worked_on_in_slices(harness: Harness) -> None:
    subscriber = connect(harness, "s", expiry=0)
    patterns = [f"{number:09b}".replace("0", "+").replace("1", "a") for number in range(512)]
    subscriber.send(Subscribe(1, [Subscription("/".join(each), 0) for each in patterns]))
    client = connect(harness, "c", expiry=0)
    topics = ["/".join("a" * 8 + chr(98 + number)) for number in range(20)]
    spent = slices_of(client, *[Publish(topic, b"x", 0, False, False, 0) for topic in topics])
    assert len(spent) > 3
    assert max(spent) < SLICE_UNITS + ONE_STEP_UNITS
    harness.commit()
    assert len(publishes(subscriber.take())) == 20, "none is left out"


@pytest.mark.parametrize("qos", [0, 1])
def test_messages_to_many_groups_are_worked_on_in_slices_and_keep_their_order(
    harness: Harness, qos: int
) -> None:
    harness.limits.max_mqueue_len = 100_000
    member = connect(harness, "m", expiry=0)
    member.send(Subscribe(1, [Subscription(f"$share/g{n}/t", qos) for n in range(500)]))
    harness.commit()
    member.take()
    client = connect(harness, "c", expiry=0)
    sent = [Publish("t", b"%d" % n, qos, False, False, n + 1 if qos else 0) for n in range(20)]
    spent = slices_of(client, *sent, Pingreq())
    assert len(spent) > 5
    assert max(spent) < SLICE_UNITS + ONE_STEP_UNITS
    harness.commit()
    if not qos:
        got = [int(each) for each in payloads(member.take())]
        assert got == sorted(got)
        assert len(got) == 20 * 500
    assert Pingresp() in client.take()


def test_small_packets_beyond_a_slice_wait_in_order(harness: Harness) -> None:
    subscriber = harness.subscriber("s", "t", 0)
    client = harness.connect("c", clean=True)
    count = 3 * SLICE_UNITS
    sent = [Publish("t", b"%d" % number, 0, False, False, 0) for number in range(count)]
    assert len(slices_of(client, *sent)) > 2
    harness.commit()
    assert payloads(subscriber.take()) == [b"%d" % number for number in range(count)]


def test_what_is_wrong_behind_a_slice_is_said_when_its_turn_has_come(harness: Harness) -> None:
    client = harness.connect("c", clean=True)
    good = b"".join(encode(Pingreq(), 4) for _ in range(2 * SLICE_UNITS))
    broker = harness.broker
    broker.work.spent = 0
    broker.receive(client.connection, good + b"\x00\x00", harness.now)
    assert not client.closed
    while client.connection.has_more_work:
        broker.continue_connection(client.connection, harness.now)
    assert client.closed
    harness.flush()
    assert len(client.take()) == 1 + 2 * SLICE_UNITS


def test_a_crowd_that_is_to_be_sent_what_is_retained_shares_one_slice(harness: Harness) -> None:
    retain_many(harness, 3_000)
    crowd = [harness.connect(str(number), clean=True) for number in range(30)]
    for client in crowd:
        client.send(Subscribe(1, [Subscription("#", 0)]))
    harness.commit()
    work = harness.broker.work
    for _ in range(60):
        harness.broker.wake(harness.now)
        assert work.spent < SLICE_UNITS + 3 * ONE_STEP_UNITS
    for _ in range(400):
        harness.advance(0.05)
    assert [len(publishes(client.take())) for client in crowd] == [3_000] * 30
