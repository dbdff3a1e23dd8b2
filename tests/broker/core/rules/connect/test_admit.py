"""Accepted CONNECTs: which session the client finds, what CONNACK grants, and takeover."""

from pathlib import Path

import pytest

from gateway.broker.core.limits import Limits
from gateway.broker.wire.packets import (
    Connack,
    Connect,
    Puback,
    Publish,
    Subscription,
)
from tests.broker.core.harness import Harness, payloads, publishes
from tests.broker.core.mqtt5 import (
    NEVER,
    connack_of,
    connect,
    end_of,
    granted,
    properties,
    publish,
    subscribe,
    subscriber,
    will,
)


@pytest.mark.statement(
    "MQTT5-3.1.2-4", "MQTT5-3.1.2-5", "MQTT5-3.1.2-6", "MQTT5-3.2.2-2", "MQTT5-3.2.2-3"
)
def test_clean_start_and_session_present_are_about_two_different_things(harness: Harness) -> None:
    # Clean start decides about the old session, and the expiry interval about the new one.
    story = [
        (False, NEVER, False),  # there is no session yet
        (False, NEVER, True),
        (True, NEVER, False),  # the old session is discarded, and the new one never expires
        (False, 0, True),  # resumed for the last time
        (False, 0, False),
    ]
    for clean, expiry, present in story:
        client = connect(harness, "c", clean=clean, expiry=expiry)
        assert connack_of(client).session_present is present
        harness.lose(client)
        harness.commit()


@pytest.mark.statement("MQTT5-3.1.3-6", "MQTT5-3.1.3-7", "MQTT5-3.2.2-16")
def test_a_client_without_an_identifier_receives_the_one_it_got_and_can_come_back(
    harness: Harness,
) -> None:
    first = connect(harness, "")
    name = granted(first).assigned_client_identifier
    other = granted(connect(harness, "")).assigned_client_identifier
    assert name
    assert name != other
    harness.lose(first)
    harness.cut()
    again = connack_of(connect(harness, name))
    assert again.session_present
    assert again.properties is not None
    assert again.properties.assigned_client_identifier is None


@pytest.mark.statement("MQTT5-3.1.4-3", "MQTT5-4.4.0-1", "MQTT5-3.3.1-1", "MQTT5-4.6.0-1")
def test_a_takeover_amid_a_delivery_loses_nothing_doubles_nothing_and_keeps_the_order(
    tmp_path: Path,
) -> None:
    limits = Limits()
    limits.max_inflight = 3
    harness = Harness(tmp_path, limits)
    client = subscriber(harness, "c", "t", 1)
    publisher = connect(harness, "p")
    for number in range(12):
        publish(harness, publisher, "t", b"%d" % number)
    seen: list[bytes] = []
    for _ in range(20):
        packets = publishes(client.take())
        for packet in packets[:2]:
            if not packet.dup or packet.payload not in seen:
                seen.append(packet.payload)
            client.send(Puback(packet.packet_id))
        if not packets:
            break
        taken = connect(harness, "c")
        assert end_of(client) == 0x8E
        client = taken
    assert seen == [b"%d" % number for number in range(12)]
    harness.close()


@pytest.mark.statement("MQTT5-4.3.2-3", "MQTT5-4.4.0-1")
def test_a_puback_in_the_last_bytes_before_the_cut_counts(harness: Harness) -> None:
    client = subscriber(harness, "c", "t", 1)
    publisher = connect(harness, "p")
    publish(harness, publisher, "t", b"1")
    publish(harness, publisher, "t", b"2")
    first, _ = publishes(client.take())
    client.send(Puback(first.packet_id))
    harness.lose(client)  # in the same turn of the event loop
    again = connect(harness, "c")
    assert payloads(again.take()) == [b"2"]


@pytest.mark.statement("MQTT5-3.2.0-1", "MQTT5-3.2.0-2", "MQTT5-3.14.0-1")
def test_connack_comes_first_and_no_disconnect_before_it(harness: Harness) -> None:
    harness.lose(subscriber(harness, "c", "t", 1))
    publish(harness, connect(harness, "p"), "t", b"1")
    client = harness.open_connection(5)
    client.send(Connect(5, "c", False, 0, None, None, None), Publish("t", b"2", 0, False, False, 0))
    client.send(Connect(5, "c", False, 0, None, None, None))  # a protocol error before the commit
    harness.flush()
    harness.commit()
    assert client.closed
    assert client.take() == []
    again = connect(harness, "c")
    packets = again.take()
    assert isinstance(packets[0], Connack)
    assert [packet for packet in packets[1:] if isinstance(packet, Connack)] == []


def test_a_connack_that_the_client_could_not_take_ends_the_connection(harness: Harness) -> None:
    client = connect(harness, "c", maximum_packet_size_bytes=5)
    assert client.closed
    assert client.take() == []
    assert harness.broker.statistics.connections_open == 0


def test_a_session_moves_between_versions(harness: Harness) -> None:
    client = connect(harness, "c")
    subscribe(harness, client, Subscription("t", 1), identifier=9)
    harness.lose(client)
    publish(harness, connect(harness, "p"), "t", b"1", content_type="x")
    older = harness.connect("c", version=4)
    (packet,) = publishes(older.take())
    assert packet.properties is None
    harness.lose(older)
    (packet,) = publishes(connect(harness, "c").take())
    assert packet.properties == properties(content_type="x", subscription_identifiers=[9])


@pytest.mark.statement("MQTT5-3.1.3-5", "MQTT5-3.1.3-2", "MQTT5-3.1.4-5")
def test_the_client_identifier_finds_the_session(harness: Harness) -> None:
    names = ["0123456789abcdefghijklm", "0123456789ABCDEFGHIJKLM", "c", "c ", "é"]
    for name in names:
        assert connack_of(connect(harness, name)).reason_code == 0
    for name in names:
        assert connack_of(connect(harness, name)).session_present
    assert len(harness.broker.state.sessions) == len(names)


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
