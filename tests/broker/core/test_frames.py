"""Topic aliases for a client (5.0 section 3.3.2.3.4), defined in the order in which bytes leave."""

from typing import Any

import pytest

from gateway.broker.wire.packets import Packet, Publish, Pubrel, Subscription
from tests.broker.core.harness import Client, Harness, publishes
from tests.broker.core.mqtt5 import connect, properties, subscribe


def receiver(harness: Harness, qos: int, maximum: int = 2, **values: Any) -> Client:
    client = connect(harness, "c", topic_alias_maximum=maximum, **values)
    subscribe(harness, client, Subscription("#", qos))
    return client


def send(client: Client, topic: str, payload: bytes, qos: int, packet_id: int = 0) -> None:
    client.send(Publish(topic, payload, qos, False, False, packet_id))
    if qos == 2:
        client.send(Pubrel(packet_id))


def seen(packets: list[Packet]) -> list[tuple[str, int | None, bytes]]:
    return [
        (packet.topic, packet.properties.topic_alias if packet.properties else None, packet.payload)
        for packet in publishes(packets)
    ]


@pytest.mark.statement("MQTT5-3.3.2-11", "MQTT5-3.3.2-12")
@pytest.mark.parametrize("expiry", [0, 1_000])
@pytest.mark.parametrize("qos", [1, 2])
def test_a_topic_is_named_once_and_then_its_alias_stands_for_it(
    harness: Harness, qos: int, expiry: int
) -> None:
    client = receiver(harness, qos, expiry=expiry)
    publisher = connect(harness, "p")
    for number, topic in enumerate(("a", "b", "long", "a", "b", "long"), 1):
        send(publisher, topic, b"%d" % number, qos, number)
        harness.commit()
    assert seen(client.take()) == [
        ("a", 1, b"1"),
        ("b", 2, b"2"),
        ("long", None, b"3"),
        ("", 1, b"4"),
        ("", 2, b"5"),
        ("long", None, b"6"),
    ]


def test_within_a_batch_that_waits_an_alias_is_used_behind_its_definition(
    harness: Harness,
) -> None:
    client = receiver(harness, 2)
    publisher = connect(harness, "p")
    send(publisher, "a", b"1", 1, 1)
    send(publisher, "a", b"2", 2, 2)
    harness.flush()
    assert client.take() == []
    harness.commit()
    assert seen(client.take()) == [("a", 1, b"1"), ("", 1, b"2")]


@pytest.mark.parametrize("expiry", [0, 1_000])
def test_what_overtakes_a_definition_that_waits_names_the_topic(
    harness: Harness, expiry: int
) -> None:
    client = receiver(harness, 1, expiry=expiry)
    publisher = connect(harness, "p")
    send(publisher, "a", b"waits", 1, 1)
    send(publisher, "a", b"urgent!", 0)
    send(publisher, "a", b"behind it", 0)
    send(publisher, "a", b"waits too", 1, 2)
    harness.flush()
    assert seen(client.take()) == [("a", 1, b"urgent!"), ("", 1, b"behind it")]
    harness.commit()
    assert seen(client.take()) == [("a", 1, b"waits"), ("", 1, b"waits too")]
    send(publisher, "a", b"later", 0)
    harness.flush()
    assert seen(client.take()) == [("", 1, b"later")]


def test_a_definition_at_qos_0_waits_with_the_message_that_it_belongs_to(
    harness: Harness,
) -> None:
    client = receiver(harness, 0)
    publisher = connect(harness, "p")
    send(publisher, "a", b"waits", 1, 1)
    send(publisher, "a", b"waits too", 1, 2)
    send(publisher, "a", b"urgent!", 0)
    harness.flush()
    assert seen(client.take()) == [("a", 1, b"urgent!")]
    harness.commit()
    assert seen(client.take()) == [("a", 1, b"waits"), ("", 1, b"waits too")]


def test_a_definition_that_is_being_committed_has_not_left(harness: Harness) -> None:
    client = receiver(harness, 1)
    publisher = connect(harness, "p")
    send(publisher, "a", b"waits", 1, 1)
    batch = harness.broker.seal(harness.now, harness.time_ms, harness.clock)
    assert batch.blob is not None
    send(publisher, "b", b"next batch", 1, 2)
    send(publisher, "a", b"next batch", 1, 3)
    send(publisher, "a", b"urgent!", 0)
    harness.flush()
    assert seen(client.take()) == [("a", 1, b"urgent!")]
    harness.broker.committed(batch)
    harness.flush()
    assert seen(client.take()) == [("a", 1, b"waits")]
    send(publisher, "b", b"urgent!", 0)
    harness.flush()
    assert seen(client.take()) == [("b", 2, b"urgent!")], "its definition waits for the next batch"


def test_qos_0_that_waits_for_a_message_of_its_queue_defines_for_what_is_behind(
    harness: Harness,
) -> None:
    harness.limits.mqueue_store_qos0 = True
    client = receiver(harness, 1)
    harness.lose(client)
    publisher = connect(harness, "p")
    for payload in (b"1", b"2"):
        send(publisher, "a", payload, 0)
    harness.commit()
    client = connect(harness, "c", topic_alias_maximum=1)
    assert seen(client.take()) == [("a", 1, b"1"), ("", 1, b"2")]


@pytest.mark.statement("MQTT5-3.3.2-7")
@pytest.mark.parametrize("takeover", [False, True])
@pytest.mark.parametrize("maximum", [0, 1])
def test_what_is_resent_on_another_connection_names_its_topic(
    harness: Harness, maximum: int, takeover: bool
) -> None:
    client = receiver(harness, 1)
    publisher = connect(harness, "p")
    for number in (1, 2):
        send(publisher, "a", b"%d" % number, 1, number)
    harness.commit()
    assert seen(client.take()) == [("a", 1, b"1"), ("", 1, b"2")]
    if not takeover:
        harness.lose(client)
    again = connect(harness, "c", topic_alias_maximum=maximum)
    packets = again.take()
    assert all(packet.dup for packet in publishes(packets))
    expected = (
        [("a", 1, b"1"), ("", 1, b"2")] if maximum else [("a", None, b"1"), ("a", None, b"2")]
    )
    assert seen(packets) == expected


def test_aliases_survive_no_power_cut(harness: Harness) -> None:
    client = receiver(harness, 1)
    publisher = connect(harness, "p")
    for number in (1, 2):
        send(publisher, "a", b"%d" % number, 1, number)
    harness.commit()
    assert seen(client.take())[1] == ("", 1, b"2")
    harness.cut()
    again = connect(harness, "c", topic_alias_maximum=2)
    assert seen(again.take()) == [("a", 1, b"1"), ("", 1, b"2")]


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_retained_messages_define_and_use_aliases(harness: Harness, qos: int) -> None:
    publisher = connect(harness, "p")
    publisher.send(Publish("a", b"kept", 2, True, False, 1), Pubrel(1))
    harness.commit()
    client = connect(harness, "c", topic_alias_maximum=2)
    first = subscribe(harness, client, Subscription("#", qos))
    second = subscribe(harness, client, Subscription("a", qos))
    assert seen(first) == [("a", 1, b"kept")]
    assert seen(second) == [("", 1, b"kept")]


@pytest.mark.parametrize("qos", [0, 1])
def test_whether_a_message_fits_does_not_depend_on_its_alias(harness: Harness, qos: int) -> None:
    topic = "t" * 20
    whole = 2 + 2 + len(topic) + (2 if qos else 0) + 1
    client = receiver(harness, qos, maximum_packet_size_bytes=whole + 10)
    publisher = connect(harness, "p")
    for number, length in enumerate((10, 1, 11, 1), 1):
        # Without an alias a payload of 10 bytes fits, and one of 11 bytes does not.
        packet_id = number if qos else 0
        send(publisher, topic, b"x" * length, qos, packet_id)
        harness.commit()
    assert [(bool(packet.topic), len(packet.payload)) for packet in publishes(client.take())] == [
        (True, 10),
        (True, 1),
        (True, 1),
    ]
    assert harness.broker.statistics.dropped == {"too_large": 1}


def test_an_alias_needs_no_more_room_than_a_client_with_a_maximum_has(harness: Harness) -> None:
    client = receiver(harness, 1, maximum_packet_size_bytes=200)
    publisher = connect(harness, "p")
    for number, length in enumerate((150, 10, 170, 10, 195), 1):
        send(publisher, "topic", b"x" * length, 1, number)
        harness.commit()
    assert [(topic, alias, len(payload)) for topic, alias, payload in seen(client.take())] == [
        ("topic", 1, 150),
        ("", 1, 10),
        ("", 1, 170),
        ("", 1, 10),
    ]
    assert harness.broker.statistics.dropped == {"too_large": 1}


def test_the_properties_of_a_message_stand_beside_its_alias(harness: Harness) -> None:
    client = receiver(harness, 1)
    publisher = connect(harness, "p")
    for number in (1, 2):
        made = properties(content_type="text", message_expiry_interval_seconds=10)
        publisher.send(Publish("a", b"x", 1, False, False, number, made))
        harness.commit()
    first, second = publishes(client.take())
    assert (first.topic, second.topic) == ("a", "")
    for packet in (first, second):
        assert packet.properties is not None
        assert packet.properties.topic_alias == 1
        assert packet.properties.content_type == "text"
        assert packet.properties.message_expiry_interval_seconds == 10
