"""Packet identifiers of a session that has all 65,535 in flight: they wrap, also over a cut."""

from pathlib import Path

import pytest

from gateway.core.limits import Limits
from gateway.wire.packets import Puback, Pubcomp, Publish, Pubrec, Pubrel
from tests.core.harness import Client, Harness, publishes
from tests.core.mqtt5 import connect, subscriber

ALL = 65_535
WAITING = 6
FREED = [40_000, 7, 65_535, 1]


def publish_many(harness: Harness, first: int, count: int, qos: int) -> None:
    publisher = harness.connect("p", clean=True)
    for number in range(first, first + count):
        packet_id = number % ALL + 1
        publisher.send(Publish("t", b"%d" % number, qos, False, False, packet_id))
        if qos == 2:
            publisher.send(Pubrel(packet_id))
    harness.commit()
    harness.lose(publisher)


def full_session(data_dir: Path, qos: int) -> tuple[Harness, Client]:
    """A persistent session with every identifier in flight, and some messages behind."""
    limits = Limits()
    limits.max_inflight = 0
    limits.max_mqueue_len = ALL
    harness = Harness(data_dir, limits)
    client = subscriber(harness, "c", "t", qos)
    publish_many(harness, 0, ALL + WAITING, qos)
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
    # As each PUBACK came, its identifier was the one that was free.
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
