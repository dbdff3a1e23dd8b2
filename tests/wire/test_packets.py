"""Packets as values: equal when every field is, and shown without their secrets."""

from gateway.wire.packets import Connect, Packet, Properties, Will
from tests.wire.vectors import VECTORS


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
        # The same packet can stand in the table for two versions, with other bytes.
        assert packet in equal
        assert all(repr(other) == repr(packet) for other in equal), index
