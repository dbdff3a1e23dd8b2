"""Packet identifiers in flight: unique, assigned in order, and wrapped after 65,535."""

from pathlib import Path

import pytest

from gateway.broker.core.limits import Limits
from gateway.broker.wire.packets import (
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Subscription,
)
from tests.broker.core.harness import Client, Harness, publishes, send_many
from tests.broker.core.mqtt5 import connect, subscribe, subscriber


def test_a_packet_identifier_is_not_used_twice_at_a_time_and_wraps(tmp_path: Path) -> None:
    limits = Limits()
    limits.max_inflight = 0
    limits.max_mqueue_len = 100_000
    harness = Harness(tmp_path, limits)
    subscriber = harness.subscriber("s", "t", 1, clean=True)
    publisher = harness.connect("p", clean=True)
    send_many(harness, publisher, 65_540)
    first = publishes(subscriber.take())
    assert len({packet.packet_id for packet in first}) == len(first) == 65_535
    for packet in first[10:20]:
        subscriber.send(Puback(packet.packet_id))
    harness.commit()
    later = publishes(subscriber.take())
    assert [packet.packet_id for packet in later] == list(range(11, 16))
    harness.close()


@pytest.mark.statement("MQTT5-2.2.1-4", "MQTT5-4.3.2-1", "MQTT5-4.3.3-1", "MQTT5-4.3.2-2")
def test_identifiers_run_out_at_65535_and_wrap_over_those_in_flight(tmp_path: Path) -> None:
    limits = Limits()
    limits.max_inflight = 0
    limits.max_mqueue_len = 100_000
    harness = Harness(tmp_path, limits)
    client = connect(harness, "c", expiry=0)
    subscribe(harness, client, Subscription("t", 1))
    publisher = harness.connect("p", clean=True)
    for number in range(65_537):
        publisher.send(Publish("t", b"", 1, False, False, number % 65_535 + 1))
    harness.commit()
    first = publishes(client.take())
    assert [packet.packet_id for packet in first] == list(range(1, 65_536))
    client.send(Puback(40_000), Puback(7))
    harness.commit()
    assert [packet.packet_id for packet in publishes(client.take())] == [40_000, 7]
    harness.close()


ALL = 65_535


WAITING = 6


FREED = [40_000, 7, 65_535, 1]


def publish_numbers(harness: Harness, first: int, count: int, qos: int) -> None:
    publisher = harness.connect("p", clean=True)
    for number in range(first, first + count):
        packet_id = number % ALL + 1
        publisher.send(Publish("t", b"%d" % number, qos, False, False, packet_id))
        if qos == 2:
            publisher.send(Pubrel(packet_id))
    harness.commit()
    harness.lose(publisher)


def full_session(data_dir: Path, qos: int) -> tuple[Harness, Client]:
    """Return a persistent session with all identifiers in flight and some messages queued."""
    limits = Limits()
    limits.max_inflight = 0
    limits.max_mqueue_len = ALL
    harness = Harness(data_dir, limits)
    client = subscriber(harness, "c", "t", qos)
    publish_numbers(harness, 0, ALL + WAITING, qos)
    return harness, client


@pytest.mark.statement("MQTT5-2.2.1-4", "MQTT5-4.3.2-1", "MQTT5-4.4.0-1", "MQTT5-4.6.0-1")
@pytest.mark.parametrize("cut", [False, True])
def test_identifiers_wrap_over_those_in_flight_and_the_order_stays(
    tmp_path: Path, cut: bool
) -> None:
    harness, client = full_session(tmp_path, 1)
    sent = {packet.packet_id: packet.payload for packet in publishes(client.take())}
    assert sent == {number + 1: b"%d" % number for number in range(ALL)}
    client.send(*(Puback(packet_id) for packet_id in FREED))
    harness.commit()
    for packet_id in FREED:
        del sent[packet_id]
    new = publishes(client.take())
    # Each message took the identifier that the PUBACK before had freed.
    assert [(packet.packet_id, packet.payload) for packet in new] == [
        (packet_id, b"%d" % (ALL + index)) for index, packet_id in enumerate(FREED)
    ]
    sent |= {packet.packet_id: packet.payload for packet in new}
    if cut:
        harness.checkpoint()
        harness.cut()
    else:
        harness.lose(client)
    client = connect(harness, "c")
    again = publishes(client.take())
    assert [(packet.packet_id, packet.payload) for packet in again] == list(sent.items())
    assert all(packet.dup for packet in again)
    client.send(Puback(30_000))
    harness.commit()
    (last,) = publishes(client.take())
    assert (last.packet_id, last.payload, last.dup) == (30_000, b"%d" % (ALL + 4), False)
    harness.close()


@pytest.mark.statement("MQTT5-2.2.1-4", "MQTT5-4.3.3-1", "MQTT5-4.3.3-4", "MQTT5-4.3.3-6")
def test_an_identifier_of_qos_2_is_free_at_pubcomp_and_not_at_pubrec(tmp_path: Path) -> None:
    harness, client = full_session(tmp_path, 2)
    assert len(publishes(client.take())) == ALL
    client.send(*(Pubrec(packet_id) for packet_id in FREED))
    harness.commit()
    assert client.take() == [Pubrel(packet_id) for packet_id in FREED]
    harness.cut()
    client = connect(harness, "c")
    _, *packets = client.take()
    released = [packet.packet_id for packet in packets if isinstance(packet, Pubrel)]
    assert sorted(released) == sorted(FREED)
    assert len(publishes(packets)) == ALL - len(FREED)
    client.send(Pubcomp(FREED[0]))
    harness.commit()
    (new,) = publishes(client.take())
    assert (new.packet_id, new.payload) == (FREED[0], b"%d" % ALL)
    client.send(Pubrec(FREED[1], 0x80))  # an error ends this exchange too, in any state
    harness.commit()
    (new,) = publishes(client.take())
    assert (new.packet_id, new.payload) == (FREED[1], b"%d" % (ALL + 1))
    harness.close()
