"""Small duties of MQTT 5.0 that no other page of tests is about."""

import pytest

from gateway.wire.packets import (
    Connect,
    Disconnect,
    Pingreq,
    Pingresp,
    Puback,
    Publish,
    Pubrec,
    Pubrel,
    Subscription,
)
from tests.core.harness import Harness, payloads, publishes
from tests.core.mqtt5 import (
    connack_of,
    connect,
    end_of,
    granted,
    publish,
    subscribe,
    subscriber,
    will,
)


@pytest.mark.statement("MQTT5-3.12.4-1")
def test_a_ping_is_answered(harness: Harness) -> None:
    client = connect(harness, "c")
    client.take()
    client.send(Pingreq())
    harness.flush()
    assert client.take() == [Pingresp()]


@pytest.mark.statement("MQTT5-3.14.4-2")
def test_nothing_is_looked_at_or_sent_after_a_disconnect(harness: Harness) -> None:
    watch = subscriber(harness, "watch", "t", 0)
    client = subscriber(harness, "c", "t", 0)
    client.send(Disconnect(0), Publish("t", b"late", 0, False, False, 0), Pingreq())
    harness.commit()
    assert client.closed
    assert client.take() == []
    assert payloads(watch.take()) == []


@pytest.mark.statement("MQTT5-3.1.3-5", "MQTT5-3.1.3-2", "MQTT5-3.1.4-5")
def test_the_client_identifier_finds_the_session(harness: Harness) -> None:
    names = ["0123456789abcdefghijklm", "0123456789ABCDEFGHIJKLM", "c", "c ", "é"]
    for name in names:
        assert connack_of(connect(harness, name)).reason_code == 0
    for name in names:
        assert connack_of(connect(harness, name)).session_present
    assert len(harness.broker.state.sessions) == len(names)


@pytest.mark.statement("MQTT5-3.1.4-1", "MQTT5-3.1.0-1")
def test_a_packet_before_connect_closes_the_connection_without_a_word(harness: Harness) -> None:
    for packet in (Pingreq(), Publish("t", b"x", 0, False, False, 0), Disconnect(0)):
        client = harness.open_connection(5)
        client.send(packet)
        harness.commit()
        assert client.closed
        assert client.take() == []


@pytest.mark.statement("MQTT5-3.1.2-7")
def test_a_will_is_on_disk_before_its_client_is_let_in(harness: Harness) -> None:
    harness.lose(subscriber(harness, "watch", "w", 1))
    client = harness.open_connection(5)
    client.send(Connect(5, "c", True, 0, will(), None, None))
    harness.flush()
    assert client.take() == []
    harness.commit()
    assert connack_of(client).reason_code == 0
    harness.cut()
    assert payloads(connect(harness, "watch").take()) == [b"will"]


@pytest.mark.statement("MQTT5-3.3.1-3", "MQTT5-4.3.1-1")
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_the_dup_flag_of_the_publisher_goes_no_further(harness: Harness, qos: int) -> None:
    watch = subscriber(harness, "watch", "t", qos)
    client = connect(harness, "c")
    client.send(Publish("t", b"x", 2, False, True, 7), Pubrel(7))
    harness.commit()
    (packet,) = publishes(watch.take())
    assert (packet.dup, packet.qos) == (False, qos)


@pytest.mark.statement("MQTT5-4.3.2-5")
def test_an_identifier_is_new_after_its_puback(harness: Harness) -> None:
    watch = subscriber(harness, "watch", "t", 1)
    client = connect(harness, "c")
    client.take()
    for dup in (False, True):
        client.send(Publish("t", b"x", 1, False, dup, 7))
        harness.commit()
        assert client.take() == [Puback(7)]
    assert payloads(watch.take()) == [b"x", b"x"]


@pytest.mark.statement("MQTT5-4.6.0-4")
def test_pubrels_leave_in_the_order_of_the_pubrecs(harness: Harness) -> None:
    client = subscriber(harness, "c", "t", 2)
    publisher = connect(harness, "p")
    for number in range(1, 5):
        publisher.send(Publish("t", b"x", 2, False, False, number), Pubrel(number))
    harness.commit()
    order = [packet.packet_id for packet in publishes(client.take())]
    order = [order[2], order[0], order[3], order[1]]
    client.send(*(Pubrec(packet_id) for packet_id in order))
    harness.commit()
    assert client.take() == [Pubrel(packet_id) for packet_id in order]


@pytest.mark.statement("MQTT5-4.7.3-3")
def test_topics_of_65535_bytes_are_topics(harness: Harness) -> None:
    topic = "t" * 65_535
    client = subscriber(harness, "c", topic, 1)
    publish(harness, connect(harness, "p"), topic, b"x")
    assert payloads(client.take()) == [b"x"]


@pytest.mark.statement("MQTT5-3.2.2-9", "MQTT5-3.2.2-10", "MQTT5-3.2.2-12", "MQTT5-3.2.2-13")
def test_every_qos_and_retain_are_there_and_none_is_denied(harness: Harness) -> None:
    client = connect(harness, "c")
    said = granted(client)
    assert said.maximum_qos is None
    assert said.retain_available is None
    assert said.wildcard_subscription_available is None
    assert said.subscription_identifiers_available is None
    assert said.shared_subscription_available is None
    publish(harness, client, "t", b"x", 2, retain=True)
    client.send(Pubrel(2))
    harness.commit()
    (packet,) = publishes(subscribe(harness, client, Subscription("t", 2)))
    assert (packet.qos, packet.retain) == (2, True)


@pytest.mark.statement("MQTT-3.1.2-24")
def test_an_older_client_is_closed_without_a_word(harness: Harness) -> None:
    client = harness.connect("c", keep_alive_seconds=10)
    client.take()
    harness.advance(15)
    assert client.closed
    assert client.take() == []


@pytest.mark.parametrize("version", [3, 4, 5])
def test_a_packet_above_the_maximum_ends_the_connection_at_its_header(
    harness: Harness, version: int
) -> None:
    client = harness.connect("c", version=version)
    client.take()
    largest = harness.limits.max_packet_size_bytes
    assert largest == 2 * 1024 * 1024
    client.send_bytes(b"\x30\xfc\xff\x7f")  # with its header exactly that many bytes
    harness.commit()
    assert not client.closed
    client = harness.connect("d", version=version)
    client.take()
    client.send_bytes(b"\x30\xfd\xff\x7f")
    harness.commit()
    assert client.closed
    if version == 5:
        assert end_of(client) == 0x95
    else:
        assert client.take() == []


@pytest.mark.statement("MQTT5-3.1.2-24")
@pytest.mark.parametrize("reason", ["bad_authentication_method", "max_connections"])
def test_a_refusal_that_exceeds_the_maximum_packet_size_is_a_close_without_a_word(
    harness: Harness, reason: str
) -> None:
    if reason == "max_connections":
        harness.limits.max_connections = 0
    client = connect(
        harness, "c", maximum_packet_size_bytes=4, authentication_method="no such method"
    )
    assert client.take() == []
    assert client.closed
    assert harness.broker.statistics.errors == {reason: 1}
    told = connect(
        harness, "c", maximum_packet_size_bytes=5, authentication_method="no such method"
    )
    assert connack_of(told).reason_code >= 0x80
