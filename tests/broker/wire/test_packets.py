"""Packets as values: equal if all fields are equal, and shown without their secrets."""

import pytest

from gateway.broker.wire.packets import (
    Auth,
    Connack,
    Connect,
    Disconnect,
    Packet,
    Properties,
    Puback,
    Publish,
    Will,
)
from tests.broker.wire.vectors import VECTORS


def test_no_secret_shows_when_a_packet_is_printed() -> None:
    properties = Properties()
    properties.authentication_method = "PLAIN"
    properties.authentication_data = b"hidden-data"
    connect = Connect(5, "c", True, 0, Will("w", b"", 0, False), "user", b"hidden", properties)
    shown = repr(connect)
    assert "hidden-data" not in shown
    assert "b'hidden'" not in shown
    assert "password=<hidden>" in shown
    assert "PLAIN" in shown
    assert "password=None" in repr(Connect(4, "c", True, 0, None, None, None))


def test_packets_differ_if_any_field_differs() -> None:
    packets: list[Packet] = [vector.packet for vector in VECTORS]
    for index, packet in enumerate(packets):
        equal = [other for other in packets if other == packet]
        # The table can contain the same packet for two versions, with different bytes.
        assert packet in equal
        assert all(repr(other) == repr(packet) for other in equal), index


OTHER = Properties()
OTHER.reason_string = "other"
WILL = Will("w", b"", 0, False)
ARGUMENTS: list[tuple[type, list[object], list[object]]] = [
    # All arguments, and another value for each argument.
    (Will, ["t", b"", 0, False, None], ["u", b"x", 1, True, OTHER]),
    (
        Connect,
        [4, "c", True, 0, None, None, None, None],
        [5, "d", False, 1, WILL, "u", b"p", OTHER],
    ),
    (Connack, [False, 0, None], [True, 5, OTHER]),
    (Publish, ["t", b"", 0, False, False, 0, None], ["u", b"x", 1, True, True, 1, OTHER]),
    (Puback, [1, 0, None], [2, 0x10, OTHER]),
    (Disconnect, [0, None], [4, OTHER]),
    (Auth, [0x18, None], [0x19, OTHER]),
]


@pytest.mark.parametrize(("kind", "values", "others"), ARGUMENTS)
def test_a_packet_differs_by_each_of_its_fields(
    kind: type, values: list[object], others: list[object]
) -> None:
    packet = kind(*values)
    assert packet == kind(*values)
    for index, other in enumerate(others):
        changed = kind(*values[:index], other, *values[index + 1 :])
        assert changed != packet, index


def test_the_bytes_that_a_publish_came_in_make_no_difference() -> None:
    publish = Publish("t", b"x", 0, False, False, 0)
    assert publish.topic_field == b"\x00\x01t"
    assert publish == Publish("t", b"x", 0, False, False, 0, None, b"\x00\x01t", b"\x30\x04")
