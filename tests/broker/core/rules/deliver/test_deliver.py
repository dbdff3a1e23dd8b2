"""Delivery: the window, the client's maximum packet size, and the order of sends and resends."""

from pathlib import Path
from typing import Any

import pytest

from gateway.broker.core import effects
from gateway.broker.core.effects import PageRequest
from gateway.broker.core.limits import Limits
from gateway.broker.wire.packets import (
    Connect,
    Disconnect,
    Pingreq,
    Pingresp,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
)
from tests.broker.core.draining import answer_all, drain
from tests.broker.core.harness import Harness, payloads, publish_many, publishes
from tests.broker.core.mqtt5 import connect, end_of, properties, publish, subscribe, subscriber


@pytest.mark.statement("MQTT5-3.3.4-9", "MQTT5-4.9.0-1", "MQTT5-4.9.0-2")
@pytest.mark.parametrize("receive_maximum", [1, 3])
def test_the_broker_has_no_more_in_flight_than_the_client_allows(
    harness: Harness, receive_maximum: int
) -> None:
    client = connect(harness, "c", receive_maximum=receive_maximum)
    subscribe(harness, client, Subscription("t", 2))
    publish_many(harness, 5, qos=2)
    first = publishes(client.take())
    assert len(first) == receive_maximum
    client.send(Pubrec(first[0].packet_id))
    harness.commit()
    assert publishes(client.take()) == []  # PUBREC frees no place in the window, PUBCOMP does
    client.send(Pubcomp(first[0].packet_id))
    harness.commit()
    assert len(publishes(client.take())) == 1


@pytest.mark.statement("MQTT5-3.3.4-10", "MQTT5-4.9.0-3")
def test_a_full_window_delays_nothing_but_qos_1_and_2(harness: Harness) -> None:
    client = connect(harness, "c", receive_maximum=1)
    subscribe(harness, client, Subscription("t", 2))
    publish_many(harness, 3, qos=2)
    (first,) = publishes(client.take())
    client.send(Pubrec(first.packet_id), Pingreq(), Subscribe(9, [Subscription("other", 0)]))
    harness.commit()
    publish(harness, connect(harness, "p"), "other", b"x", 0)
    packets = client.take()
    assert payloads(packets) == [b"x"]
    assert Pubrel(first.packet_id) in packets
    assert Pingresp() in packets
    assert Suback(9, [0]) in packets


@pytest.mark.statement("MQTT5-3.1.2-24", "MQTT5-3.1.2-25")
@pytest.mark.parametrize("kept", [False, True])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_message_too_large_for_a_client_is_dropped_for_it_alone_and_counted(
    tmp_path: Path, qos: int, kept: bool
) -> None:
    limits = Limits()
    limits.mqueue_store_qos0 = True
    harness = Harness(tmp_path, limits)
    small = connect(harness, "small", maximum_packet_size_bytes=60)
    subscribe(harness, small, Subscription("t", qos))
    large = subscriber(harness, "large", "t", qos)
    if kept:
        harness.lose(small)
    publisher = connect(harness, "p")
    publish(harness, publisher, "t", b"x" * 100, qos)
    publisher.send(Pubrel(2))
    publish(harness, publisher, "t", b"fits", qos)
    publisher.send(Pubrel(2))
    harness.commit()
    if kept:
        small = connect(harness, "small", maximum_packet_size_bytes=60)
    assert payloads(small.take()) == [b"fits"]
    assert payloads(large.take()) == [b"x" * 100, b"fits"]
    assert harness.broker.statistics.dropped == {"too_large": 1}
    assert harness.session("small").queued_count == 0
    harness.close()


@pytest.mark.statement("MQTT5-3.1.2-24")
def test_an_answer_too_large_for_the_client_ends_the_connection(harness: Harness) -> None:
    client = connect(harness, "c", maximum_packet_size_bytes=30)
    client.take()
    client.send(Subscribe(1, [Subscription(f"t/{number}", 0) for number in range(40)]))
    harness.commit()
    assert end_of(client) == 0x95


@pytest.mark.statement("MQTT5-3.14.2-3", "MQTT5-3.1.2-29")
@pytest.mark.parametrize(
    ("asked", "has_properties"),
    [
        ({}, True),
        ({"request_problem_information": False}, False),
        ({"maximum_packet_size_bytes": 30}, False),
    ],
)
def test_a_reason_string_is_left_out_where_it_does_not_fit_or_is_not_wanted(
    harness: Harness, asked: dict[str, Any], has_properties: bool
) -> None:
    client = connect(harness, "c", **asked)
    client.send(Pubcomp(1), Publish("t", b"x", 0, False, False, 0, properties(topic_alias=9_999)))
    harness.commit()
    last = client.take()[-1]
    assert isinstance(last, Disconnect)
    assert last.reason_code == 0x94
    assert (last.properties is not None) is has_properties
    assert last.properties is None or last.properties.session_expiry_interval_seconds is None


@pytest.mark.statement("MQTT5-3.8.4-8", "MQTT5-4.5.0-1")
@pytest.mark.parametrize("away", [False, True])
@pytest.mark.parametrize("granted", [0, 1, 2])
@pytest.mark.parametrize("sent", [0, 1, 2])
def test_the_qos_delivered_is_the_smaller_of_two(
    tmp_path: Path, sent: int, granted: int, away: bool
) -> None:
    limits = Limits()
    limits.mqueue_store_qos0 = True
    harness = Harness(tmp_path, limits)
    client = subscriber(harness, "c", "t", granted)
    if away:
        harness.lose(client)
    publisher = connect(harness, "p")
    publish(harness, publisher, "t", b"x", sent)
    publisher.send(Pubrel(2))
    harness.commit()
    if away:
        harness.cut()
        client = connect(harness, "c")
    (packet,) = publishes(client.take())
    assert packet.qos == min(sent, granted)
    harness.close()


def test_a_slow_subscriber_keeps_no_other_waiting(harness: Harness) -> None:
    stuck = subscriber(harness, "stuck", "t", 1)
    full = connect(harness, "full", receive_maximum=1)
    subscribe(harness, full, Subscription("t", 1))
    quick = subscriber(harness, "quick", "t", 1)
    harness.broker.set_writable(stuck.connection, False, harness.now)
    publish_many(harness, 30)
    assert len(drain(harness, quick)) == 30
    assert len(publishes(full.take())) == 1
    assert publishes(stuck.take()) == []
    harness.broker.set_writable(stuck.connection, True, harness.now)
    harness.commit()
    assert [packet.payload for packet in drain(harness, stuck)] == [b"%d" % n for n in range(30)]


def load(harness: Harness, request: PageRequest) -> None:
    contents, deliveries, _ = harness.store.load_page(
        request.session, request.first_position, request.count, request.contents
    )
    harness.broker.page_loaded(request, contents, deliveries, harness.now)


def test_pages_asked_for_by_connections_that_are_gone_resend_nothing_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(effects, "QUEUE_PAGE_MESSAGES", 2)
    limits = Limits()
    limits.max_inflight = 2
    harness = Harness(tmp_path, limits)
    subscriber = harness.subscriber("s", "t", 1)
    publisher = harness.connect("p", clean=True)
    for number in range(1, 9):
        publisher.send(Publish("t", b"%d" % number, 1, False, False, number))
    harness.commit()
    harness.lose(subscriber)
    harness.commit()
    harness.checkpoint()
    harness.cut()
    limits.max_inflight = 6
    requests: list[PageRequest] = []
    clients = []
    for _ in range(3):
        client = harness.open_connection()
        client.send(Connect(4, "s", False, 0, None, None, None))
        clients.append(client)
        requests += harness.broker.effects.take_pages()
    while requests:
        request = requests.pop(0)
        load(harness, request)
        requests += harness.broker.effects.take_pages()
    harness.commit()
    assert payloads(clients[-1].take()) == [b"%d" % number for number in range(1, 7)]
    assert payloads(clients[0].take()) == []
    harness.close()


def test_a_live_qos_0_message_does_not_overtake_the_kept_ones(tmp_path: Path) -> None:
    limits = Limits()
    limits.mqueue_store_qos0 = True
    limits.max_inflight = 1
    harness = Harness(tmp_path, limits)
    harness.lose(harness.subscriber("s", "t", 1))
    publisher = harness.connect("p", clean=True)
    for number, qos in enumerate((1, 1, 0, 0)):
        packet_id = number + 1 if qos else 0
        publisher.send(Publish("t", b"%d" % number, qos, False, False, packet_id))
    harness.commit()
    subscriber = harness.connect("s")
    publisher.send(Publish("t", b"4", 0, False, False, 0))
    harness.commit()
    assert answer_all(harness, subscriber) == [b"0", b"1", b"2", b"3", b"4"]
    harness.close()


def test_qos_0_does_not_overtake_what_was_kept_at_qos_0_before_it(tmp_path: Path) -> None:
    limits = Limits()
    limits.mqueue_store_qos0 = True
    limits.max_inflight = 1
    harness = Harness(tmp_path, limits)
    subscriber = harness.subscriber("s", "t", 1)
    publisher = harness.connect("p", clean=True)
    publisher.send(Publish("t", b"1", 1, False, False, 1), Publish("t", b"2", 1, False, False, 2))
    publisher.send(Publish("t", b"kept", 0, False, False, 0))
    harness.commit()
    subscriber.send(Puback(publishes(subscriber.take())[0].packet_id))
    harness.commit()
    subscriber.send(Puback(publishes(subscriber.take())[0].packet_id))
    publisher.send(Publish("t", b"later", 0, False, False, 0))
    harness.commit()
    assert payloads(subscriber.take()) == [b"kept", b"later"]
    harness.close()
