"""Packets to a client leave in order, whatever their length."""

import pytest

from gateway.broker.core.sessions.packet_buffer import COPIED_BYTES_MAX, PacketBuffer
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Acknowledgement, Puback, Pubcomp, Pubrec, Pubrel

SHORT, LONG = b"s" * COPIED_BYTES_MAX, b"l" * (COPIED_BYTES_MAX + 1)


@pytest.mark.parametrize(
    "packets",
    [[], [SHORT], [LONG], [SHORT, SHORT], [LONG, LONG], [SHORT, LONG, SHORT, LONG, SHORT], [b""]],
)
def test_packets_leave_in_their_order_and_once(packets: list[bytes]) -> None:
    buffer = PacketBuffer()
    for _ in range(2):
        for packet in packets:
            buffer.append(packet)
        assert b"".join(buffer.take()) == b"".join(packets)
        assert buffer.is_empty()
        assert buffer.take() == []


def test_a_long_packet_is_in_memory_once() -> None:
    first, second = PacketBuffer(), PacketBuffer()
    for buffer in (first, second):
        buffer.append(LONG)
    (one,), (other,) = first.take(), second.take()
    assert one is other is LONG


@pytest.mark.parametrize("packet_type", [Puback, Pubrec, Pubrel, Pubcomp])
@pytest.mark.parametrize("packet_id", [1, 255, 256, 65_535])
def test_an_acknowledgement_is_the_one_that_the_encoder_makes(
    packet_type: type[Acknowledgement], packet_id: int
) -> None:
    expected = encode(packet_type(packet_id), 4)
    buffer = PacketBuffer()
    buffer.append(SHORT)
    buffer.append_acknowledgement(expected[0], packet_id)
    assert buffer.take() == [SHORT + expected]


def test_the_first_byte_shows_what_waits() -> None:
    buffer = PacketBuffer()
    assert buffer.first_byte() == -1
    buffer.append(b"\x20\x02\x00\x00")
    assert buffer.first_byte() == 0x20
    buffer.append(LONG)
    assert buffer.first_byte() == 0x20
    buffer.take()
    buffer.append(LONG)
    assert buffer.first_byte() == LONG[0]
