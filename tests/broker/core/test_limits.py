"""A restart with smaller limits keeps and delivers all that was accepted under larger limits."""

from pathlib import Path

import pytest

from gateway.broker.core.limits import Limits
from gateway.broker.wire.packets import (
    Connack,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
)
from tests.broker.core.harness import Client, Harness, payloads, publishes
from tests.broker.core.mqtt5 import connack_of, connect, publish, subscribe

RESTARTS = pytest.mark.parametrize("how", ["cut", "checkpoint and cut", "restart"])


def again(harness: Harness, how: str) -> Limits:
    """Start again; return the limits, which the test lowers before any client connects."""
    if how == "restart":
        harness.restart()
    else:
        if how == "checkpoint and cut":
            harness.checkpoint()
        harness.cut()
    return harness.limits


def receive_all(harness: Harness, client_id: str) -> list[bytes]:
    """Connect, acknowledge all messages, and return their payloads."""
    client = connect(harness, client_id)
    got: list[bytes] = []
    while packets := publishes(client.take()):
        got += [packet.payload for packet in packets]
        client.send(*(Puback(packet.packet_id) for packet in packets))
        harness.commit()
    return got


@RESTARTS
@pytest.mark.parametrize("limit", ["max_mqueue_len", "max_mqueue_bytes", "max_inflight"])
def test_a_queue_longer_than_the_limit_is_delivered_whole(
    harness: Harness, how: str, limit: str
) -> None:
    client = connect(harness, "c")
    subscribe(harness, client, Subscription("t", 1))
    publisher = connect(harness, "p")
    sent = [b"%d" % number * 100 for number in range(70)]
    for payload in sent[:40]:
        publish(harness, publisher, "t", payload)
    harness.lose(client)
    for payload in sent[40:]:
        publish(harness, publisher, "t", payload)
    limits = again(harness, how)
    limits.max_inflight = 2 if limit == "max_inflight" else 32
    limits.max_mqueue_len = 3 if limit == "max_mqueue_len" else 10_000
    limits.max_mqueue_bytes = 1_024 if limit == "max_mqueue_bytes" else 1 << 20
    queued = harness.session("c").queued_count
    publish(harness, connect(harness, "p"), "t", b"too many")
    assert harness.session("c").queued_count == queued + (limit == "max_inflight")
    assert receive_all(harness, "c")[: len(sent)] == sent


@RESTARTS
@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("limit", ["max_awaiting_rel", "max_awaiting_rel_bytes"])
def test_more_held_messages_than_the_limit_are_released(
    harness: Harness, how: str, version: int, limit: str
) -> None:
    watch = connect(harness, "w")
    subscribe(harness, watch, Subscription("t", 0))
    publisher = harness.connect("p", version=version)
    if version == 5:
        publisher = connect(harness, "p")
    packets = [Publish("t", b"%d" % n * 300, 2, False, False, n) for n in range(1, 9)]
    publisher.send(*packets)
    harness.commit()
    limits = again(harness, how)
    setattr(limits, limit, 2 if limit == "max_awaiting_rel" else 1_024)
    watch = connect(harness, "w")
    publisher = connect(harness, "p") if version == 5 else harness.connect("p")
    publisher.take()
    for packet in packets:
        packet.dup = True
    publisher.send(*packets[:4])  # the messages for which the publisher received no PUBREC
    harness.commit()
    assert publisher.take() == [Pubrec(number) for number in range(1, 5)]
    publisher.send(*(Pubrel(packet.packet_id) for packet in packets))
    harness.commit()
    assert publisher.take() == [Pubcomp(packet.packet_id) for packet in packets]
    assert payloads(watch.take()) == [packet.payload for packet in packets]


@RESTARTS
@pytest.mark.parametrize("limit", ["max_retained", "max_retained_bytes"])
def test_more_retained_messages_than_the_limit_are_kept_and_may_be_replaced(
    harness: Harness, how: str, limit: str
) -> None:
    publisher = connect(harness, "p")
    for number in range(5):
        publish(harness, publisher, f"t/{number}", b"x" * 500, retain=True)
    limits = again(harness, how)
    setattr(limits, limit, 2 if limit == "max_retained" else 1_024)
    publisher = connect(harness, "p")
    publisher.take()
    publish(harness, publisher, "t/1", b"y" * 500, retain=True)
    publish(harness, publisher, "t/more", b"y" * 500, retain=True)
    assert publisher.take() == [Puback(1, 0x10), Puback(1, 0x97)]
    client = connect(harness, "c")
    got = publishes(subscribe(harness, client, Subscription("t/#", 0)))
    assert sorted(packet.topic for packet in got) == [f"t/{number}" for number in range(5)]


@RESTARTS
@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("limit", ["max_retained", "max_retained_bytes"])
def test_what_was_held_to_be_retained_is_retained_at_its_release(
    harness: Harness, how: str, version: int, limit: str
) -> None:
    publisher = connect(harness, "p") if version == 5 else harness.connect("p")
    publisher.send(Publish("t", b"x" * 2_000, 2, True, False, 7))
    harness.commit()
    limits = again(harness, how)
    setattr(limits, limit, 0 if limit == "max_retained" else 1_024)
    publisher = connect(harness, "p") if version == 5 else harness.connect("p")
    publisher.send(Pubrel(7))
    harness.commit()
    assert list(harness.broker.state.retained) == ["t"]


@RESTARTS
@pytest.mark.parametrize("limit", ["max_subscriptions", "max_topic_levels"])
def test_more_subscriptions_than_the_limit_go_on_and_may_be_changed(
    harness: Harness, how: str, limit: str
) -> None:
    client = connect(harness, "c")
    names = [f"a/b/c/{number}" for number in range(5)]
    subscribe(harness, client, *(Subscription(name, 1) for name in names))
    limits = again(harness, how)
    setattr(limits, limit, 2)
    client = connect(harness, "c")
    session = harness.session("c")
    assert sorted(session.subscriptions) == names
    client.take()
    client.send(Subscribe(1, [Subscription(names[0], 0), Subscription("x/y/z", 0)]))
    harness.commit()
    (suback,) = client.take()
    assert isinstance(suback, Suback)
    refusal = 0x97 if limit == "max_subscriptions" else 0x8F
    assert suback.reason_codes == [0, refusal]
    limits.max_topic_levels = 128
    publisher = connect(harness, "p")
    for name in names:
        publish(harness, publisher, name, name.encode(), 0)
    assert payloads(client.take()) == [name.encode() for name in names]


@RESTARTS
def test_more_sessions_than_the_limit_are_kept_and_their_clients_let_in(
    harness: Harness, how: str
) -> None:
    for name in "abc":
        connect(harness, name)
    again(harness, how).max_sessions = 1
    assert len(harness.broker.state.sessions) == 3
    for name in "abc":
        assert connack_of(connect(harness, name)).session_present
    assert connack_of(connect(harness, "d")).reason_code == 0x88


@RESTARTS
def test_a_message_larger_than_the_largest_packet_is_delivered_and_released(
    harness: Harness, how: str
) -> None:
    client, publisher = connect(harness, "c"), connect(harness, "p")
    subscribe(harness, client, Subscription("t", 1))
    harness.lose(client)
    publish(harness, publisher, "t", b"queued" * 1_000)
    publish(harness, publisher, "t", b"held" * 1_000, 2)
    again(harness, how).max_packet_size_bytes = 128
    publisher = connect(harness, "p")
    publisher.send(Pubrel(2))
    harness.commit()
    assert receive_all(harness, "c") == [b"queued" * 1_000, b"held" * 1_000]


def test_the_receive_maximum_of_a_5_0_client_follows_a_smaller_limit(tmp_path: Path) -> None:
    limits = Limits()
    limits.max_awaiting_rel = 3
    harness = Harness(tmp_path, limits)
    client: Client = connect(harness, "c")
    connack = connack_of(client)
    assert isinstance(connack, Connack)
    assert connack.properties is not None
    assert connack.properties.receive_maximum == 3
    harness.close()
