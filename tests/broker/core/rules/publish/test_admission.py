"""Message properties in MQTT 5.0: expiry, topic aliases from publishers, and what is forwarded."""

from pathlib import Path
from typing import Any

import pytest

from gateway.broker.core.limits import Limits
from gateway.broker.core.records.events import decode
from gateway.broker.wire.packets import Pubcomp, Publish, Pubrec, Pubrel, Subscribe, Subscription
from tests.broker.core.harness import Harness, payloads, publishes
from tests.broker.core.mqtt5 import connect, end_of, properties, publish, subscribe, subscriber


def expiry_of(packet: Publish) -> int | None:
    return None if packet.properties is None else packet.properties.message_expiry_interval_seconds


@pytest.mark.statement("MQTT5-3.3.2-6", "MQTT5-3.3.2-5")
@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("waited", [0, 4, 9])
def test_the_time_that_a_message_waited_is_taken_off_its_expiry(
    harness: Harness, waited: int, cut: bool
) -> None:
    harness.lose(subscriber(harness, "c", "t", 1))
    publish(harness, connect(harness, "p"), "t", b"x", message_expiry_interval_seconds=10)
    if cut:
        harness.checkpoint()
        harness.cut()
    harness.advance(waited)
    (packet,) = publishes(connect(harness, "c").take())
    assert expiry_of(packet) == 10 - waited


@pytest.mark.statement("MQTT5-3.3.2-5")
@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("qos", [1, 2])
def test_what_expired_in_the_queue_is_dropped_and_counted(
    harness: Harness, qos: int, cut: bool
) -> None:
    harness.lose(subscriber(harness, "c", "t", qos))
    publisher = connect(harness, "p")
    for payload, seconds in ((b"short", 5), (b"long", 50), (b"zero", 0)):
        publish(harness, publisher, "t", payload, 1, message_expiry_interval_seconds=seconds)
    publish(harness, publisher, "t", b"without end", 1)
    if cut:
        harness.checkpoint()
        harness.cut()
    harness.advance(10)
    assert payloads(connect(harness, "c").take()) == [b"long", b"without end"]
    assert harness.broker.statistics.dropped == {"expired": 2}
    assert harness.session("c").queued_count == harness.session("c").queued_bytes == 0


@pytest.mark.statement("MQTT5-4.3.3-7", "MQTT5-4.4.0-1")
@pytest.mark.parametrize("qos", [1, 2])
def test_what_is_in_flight_past_its_expiry_is_sent_again_on_resume(
    harness: Harness, qos: int
) -> None:
    client = subscriber(harness, "c", "t", qos)
    publisher = connect(harness, "p")
    publish(harness, publisher, "t", b"x", qos, message_expiry_interval_seconds=10)
    publisher.send(Pubrel(2))
    harness.commit()
    (first,) = publishes(client.take())
    harness.lose(client)
    harness.advance(60)
    client = connect(harness, "c")
    (again,) = publishes(client.take())
    assert (again.packet_id, again.dup, expiry_of(again)) == (first.packet_id, True, 0)


@pytest.mark.statement("MQTT5-3.3.2-5", "MQTT5-4.3.3-13")
def test_a_message_that_expires_before_its_pubrel_is_not_delivered_but_completed(
    harness: Harness,
) -> None:
    watch = subscriber(harness, "s", "t", 2)
    client = connect(harness, "c")
    client.take()
    publish(harness, client, "t", b"x", 2, message_expiry_interval_seconds=10)
    harness.advance(11)
    client.send(Pubrel(2))
    harness.commit()
    assert client.take() == [Pubrec(2), Pubcomp(2)]
    assert publishes(watch.take()) == []
    assert harness.broker.statistics.dropped == {"expired": 1}


def test_the_log_states_of_no_message_that_it_went_out_when_it_had_expired(
    harness: Harness,
) -> None:
    subscriber(harness, "s", "t", 2)
    client = connect(harness, "c", expiry=0)
    publish(harness, client, "t", b"x", 2, message_expiry_interval_seconds=10)
    harness.advance(11)
    client.send(Pubrel(2))
    harness.commit()
    events = [event["event"] for blob in harness.blobs for event in decode(blob).events]
    assert "message_published" not in events


@pytest.mark.statement("MQTT5-3.3.2-5", "MQTT5-3.3.2-6")
@pytest.mark.parametrize("cut", [False, True])
def test_a_retained_message_expires(harness: Harness, cut: bool) -> None:
    publish(
        harness, connect(harness, "p"), "t", b"x", retain=True, message_expiry_interval_seconds=10
    )
    if cut:
        harness.checkpoint()
        harness.cut()
    harness.advance(4)
    client = connect(harness, "c")
    (packet,) = publishes(subscribe(harness, client, Subscription("t", 1)))
    assert expiry_of(packet) == 6
    harness.advance(6)
    assert publishes(subscribe(harness, client, Subscription("t", 1))) == []
    assert harness.broker.state.retained == {}
    harness.cut()
    assert harness.broker.state.retained == {}


FORWARDED: dict[str, Any] = {
    "payload_format_indicator": 1,
    "content_type": "application/json",
    "response_topic": "answers/7",
    "correlation_data": b"\x00\xff",
    "user_properties": [("b", "2"), ("a", "1"), ("b", "2"), ("", "")],
}


@pytest.mark.statement(
    "MQTT5-3.3.2-4",
    "MQTT5-3.3.2-15",
    "MQTT5-3.3.2-16",
    "MQTT5-3.3.2-17",
    "MQTT5-3.3.2-18",
    "MQTT5-3.3.2-20",
)
@pytest.mark.parametrize("way", ["live", "away", "cut", "retained", "will"])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_what_belongs_to_the_message_is_passed_on_unaltered_and_in_order(
    tmp_path: Path, qos: int, way: str
) -> None:
    limits = Limits()
    limits.mqueue_store_qos0 = True
    harness = Harness(tmp_path, limits)
    client = subscriber(harness, "c", "t", 2)
    if way in ("away", "cut"):
        harness.lose(client)
    publisher = connect(harness, "p")
    publish(harness, publisher, "t", b"{}", qos, retain=way == "retained", **FORWARDED)
    publisher.send(Pubrel(2))
    harness.commit()
    if way == "cut":
        harness.cut()
    if way in ("away", "cut"):
        client = connect(harness, "c")
    if way == "retained":
        client = subscriber(harness, "late", "x", 0)
        client.send(Subscribe(1, [Subscription("t", 2)]))
        harness.commit()
    (packet,) = publishes(client.take())
    assert packet.properties == properties(**FORWARDED)
    harness.close()


def test_older_clients_and_those_of_5_hear_each_other(harness: Harness) -> None:
    clients = {version: harness.connect(f"c{version}", version=version) for version in (3, 4, 5)}
    for client in clients.values():
        client.send(Subscribe(1, [Subscription("t", 1)]))
    harness.commit()
    for client in clients.values():
        client.take()
    publish(harness, clients[5], "t", b"from 5", **FORWARDED)
    for client in clients.values():
        (packet,) = publishes(client.take())
        expected = properties(**FORWARDED) if client.version == 5 else None
        assert (packet.payload, packet.properties) == (b"from 5", expected)
    for version in (3, 4):
        publish(harness, clients[version], "t", b"from %d" % version, 0)
        for client in clients.values():
            (packet,) = publishes(client.take())
            assert (packet.payload, packet.properties) == (b"from %d" % version, None)


@pytest.mark.statement("MQTT5-3.3.2-12")
def test_an_alias_of_a_client_stands_for_the_topic_it_was_given_last(harness: Harness) -> None:
    watch = subscriber(harness, "s", "#", 2)
    client = connect(harness, "c")
    for topic, alias, payload in (
        ("a", 1, b"1"),
        ("b", 16, b"2"),
        ("", 1, b"3"),
        ("", 16, b"4"),
        ("c", 1, b"5"),
        ("", 1, b"6"),
    ):
        publish(harness, client, topic, payload, 1, topic_alias=alias)
    got = [(packet.topic, packet.payload) for packet in publishes(watch.take())]
    assert got == [("a", b"1"), ("b", b"2"), ("a", b"3"), ("b", b"4"), ("c", b"5"), ("c", b"6")]


@pytest.mark.parametrize(("alias", "code"), [(17, 0x94), (3, 0x82), (65_535, 0x94)])
def test_an_alias_that_stands_for_nothing_ends_the_connection(
    harness: Harness, alias: int, code: int
) -> None:
    client = connect(harness, "c")
    publish(harness, client, "" if alias == 3 else "t", b"x", 1, topic_alias=alias)
    assert end_of(client) == code


@pytest.mark.statement("MQTT5-3.3.2-7")
def test_an_alias_ends_with_its_connection(harness: Harness) -> None:
    client = connect(harness, "c")
    publish(harness, client, "t", b"x", 1, topic_alias=1)
    again = connect(harness, "c")
    publish(harness, again, "", b"x", 1, topic_alias=1)
    assert end_of(again) == 0x82
    listener = connect(harness, "l", topic_alias_maximum=1)
    subscribe(harness, listener, Subscription("t", 0))
    for expected in ("t", ""):
        publish(harness, connect(harness, "p"), "t", b"x", 0)
        assert [packet.topic for packet in publishes(listener.take())] == [expected]
    listener = connect(harness, "l", topic_alias_maximum=1)
    publish(harness, connect(harness, "p"), "t", b"x", 0)
    assert [packet.topic for packet in publishes(listener.take())] == ["t"]


@pytest.mark.statement("MQTT5-3.1.2-26", "MQTT5-3.1.2-27", "MQTT5-3.3.2-11")
@pytest.mark.parametrize("maximum", [0, 1, 2])
def test_the_broker_uses_no_more_aliases_than_the_client_allows(
    harness: Harness, maximum: int
) -> None:
    client = connect(harness, "c", topic_alias_maximum=maximum)
    subscribe(harness, client, Subscription("#", 0))
    publisher = connect(harness, "p")
    for topic in ("a", "b", "c", "a", "b", "c"):
        publish(harness, publisher, topic, topic.encode(), 0)
    packets = publishes(client.take())
    topics: dict[int, str] = {}
    for packet in packets:
        alias = None if packet.properties is None else packet.properties.topic_alias
        if alias is not None:
            assert 0 < alias <= maximum
            topics.setdefault(alias, packet.topic)
        topic = packet.topic or topics[alias or 0]
        assert topic == packet.payload.decode()
    assert len(topics) == maximum
    assert sum(packet.topic == "" for packet in packets) == maximum


def test_a_message_too_large_to_be_sent_defines_no_alias(harness: Harness) -> None:
    client = connect(harness, "c", topic_alias_maximum=4, maximum_packet_size_bytes=60)
    subscribe(harness, client, Subscription("#", 0))
    publisher = connect(harness, "p")
    publish(harness, publisher, "t", b"x" * 100, 0)
    publish(harness, publisher, "u", b"1", 0)
    publish(harness, publisher, "t", b"2", 0)
    publish(harness, publisher, "u", b"x" * 100, 0)
    publish(harness, publisher, "u", b"3", 0)
    packets = publishes(client.take())
    assert [(packet.topic, packet.payload) for packet in packets] == [
        ("u", b"1"),
        ("t", b"2"),
        ("", b"3"),
    ]


@pytest.mark.statement("MQTT5-4.6.0-5", "MQTT5-4.6.0-6", "MQTT5-4.6.0-2", "MQTT5-4.6.0-3")
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_messages_and_acknowledgements_keep_their_order(harness: Harness, qos: int) -> None:
    client = subscriber(harness, "c", "#", qos)
    publisher = connect(harness, "p")
    publisher.take()
    for number in range(1, 9):
        topic = f"t/{number % 3}"
        packet_id = number if qos else 0
        publisher.send(Publish(topic, b"%d" % number, qos, False, False, packet_id))
    harness.commit()
    answers = publisher.take()
    assert [getattr(packet, "packet_id") for packet in answers] == (  # noqa: B009
        list(range(1, 9)) if qos else []
    )
    for packet in answers:
        if isinstance(packet, Pubrec):
            publisher.send(Pubrel(packet.packet_id))
    harness.commit()
    assert payloads(client.take()) == [b"%d" % number for number in range(1, 9)]
