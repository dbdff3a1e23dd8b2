"""Receiving at QoS 2: a message is held once, within the receive maximum, until its PUBREL."""

from pathlib import Path

import pytest

from gateway.broker.core.limits import Limits
from gateway.broker.wire.packets import (
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
)
from tests.broker.core.harness import Harness, payloads
from tests.broker.core.mqtt5 import connect, end_of, publish, subscriber


@pytest.mark.statement("MQTT5-4.13.2-1")
def test_a_client_beyond_the_receive_maximum_it_was_granted_is_disconnected(
    tmp_path: Path,
) -> None:
    limits = Limits()
    limits.max_awaiting_rel = 2
    harness = Harness(tmp_path, limits)
    client = connect(harness, "c")
    for packet_id in (1, 2, 1, 2):  # repeated PUBLISHes are not new messages
        client.send(Publish("t", b"x", 2, False, packet_id == 2, packet_id))
    harness.commit()
    assert not client.closed
    client.send(Publish("t", b"x", 2, False, False, 3))
    harness.commit()
    assert end_of(client) == 0x93
    harness.close()


def test_a_receive_maximum_lowered_while_a_client_is_connected_does_not_end_its_connection(
    harness: Harness,
) -> None:
    client = connect(harness, "c")
    harness.limits.max_awaiting_rel = 1
    client.send(*(Publish("t", b"x", 2, False, False, number) for number in (1, 2)))
    harness.commit()
    codes = [packet.reason_code for packet in client.take() if isinstance(packet, Pubrec)]
    assert codes == [0x10, 0x97]
    assert not client.closed


@pytest.mark.statement("MQTT5-4.3.3-10", "MQTT5-4.3.3-11", "MQTT5-4.3.3-12")
@pytest.mark.parametrize("cut", [False, True])
def test_a_publish_repeated_before_pubrel_gets_success_and_one_after_pubcomp_is_new(
    harness: Harness, cut: bool
) -> None:
    watch = subscriber(harness, "s", "t", 0)
    client = connect(harness, "c")
    publish(harness, client, "t", b"1", 2)
    if cut:
        harness.cut()
        client = connect(harness, "c")
        watch = connect(harness, "s")
    client.take()
    publish(harness, client, "t", b"1", 2)
    assert client.take() == [Pubrec(2)]
    client.send(Pubrel(2))
    harness.commit()
    publish(harness, client, "t", b"2", 2)
    client.send(Pubrel(2))
    harness.commit()
    assert client.take() == [Pubcomp(2), Pubrec(2), Pubcomp(2)]
    assert payloads(watch.take()) == [b"1", b"2"]


@pytest.mark.statement("MQTT5-4.3.3-9", "MQTT5-3.5.2-1", "MQTT5-3.4.2-1")
def test_a_refused_message_leaves_its_identifier_free(tmp_path: Path) -> None:
    limits = Limits()
    limits.max_retained = 1
    limits.check_payload_format = True
    harness = Harness(tmp_path, limits)
    client = connect(harness, "c")
    publish(harness, client, "kept", b"x", 1, retain=True)
    client.take()
    publish(harness, client, "more", b"x", 2, retain=True)
    assert client.take() == [Pubrec(2, 0x97)]
    assert not harness.session("c").inbound
    publish(harness, client, "more", b"x", 1, retain=True)
    assert client.take() == [Puback(1, 0x97)]
    publish(harness, client, "t", b"\xff", 2, payload_format_indicator=1)
    assert client.take() == [Pubrec(2, 0x99)]
    publish(harness, client, "t", b"\xff", 1, payload_format_indicator=1)
    assert client.take() == [Puback(1, 0x99)]
    publish(harness, client, "t", "é".encode(), 2, payload_format_indicator=1)
    assert client.take() == [Pubrec(2, 0x10)]
    publish(harness, client, "t", b"\xff", 1, payload_format_indicator=0)
    assert client.take() == [Puback(1, 0x10)]
    harness.close()


def test_held_messages_are_bounded_in_bytes_but_one_is_always_taken(tmp_path: Path) -> None:
    limits = Limits()
    limits.max_awaiting_rel_bytes = 1_000
    harness = Harness(tmp_path, limits)
    client = harness.connect("c")
    client.send(Publish("t", b"x" * 5_000, 2, False, False, 1))
    harness.commit()
    assert not client.closed
    client.send(Publish("t", b"x", 2, False, False, 2))
    harness.commit()
    assert client.closed
    assert harness.broker.statistics.errors["max_awaiting_rel_bytes"] == 1
    again = harness.connect("c")
    again.send(Pubrel(1))
    harness.commit()
    assert harness.session("c").inbound_bytes == 0
    harness.close()
