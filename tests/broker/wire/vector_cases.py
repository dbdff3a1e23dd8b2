"""The table of packets as test cases, and the ways in which a packet's bytes can arrive."""

from collections.abc import Callable

import pytest

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.packets import Connect
from tests.broker.wire.vector import Sender, Vector

MAX_PACKET_SIZE_BYTES = 1_048_576
CUTS_MAX = 200
PINGREQ = b"\xc0\x00"
PINGRESP = b"\xd0\x00"

Case = tuple[Vector, int, Sender]
"""A row of the table, a version that has the packet, and the sender."""


def cases(vectors: list[Vector], *kinds: int) -> list[object]:
    """Return the test cases of a table. `kinds` limits them to some packet types."""
    return [
        pytest.param((vector, version, sender), id=f"{vector.name}, {version}, {sender}")
        for vector in vectors
        if not kinds or vector.packet.kind in kinds
        for version in vector.versions
        for sender in vector.senders
    ]


def decoder_of(case: Case) -> Decoder:
    """Return the decoder of the peer that receives this packet."""
    vector, version, sender = case
    if isinstance(vector.packet, Connect):
        return Decoder(MAX_PACKET_SIZE_BYTES)
    side = "server" if sender == "client" else "client"
    return Decoder(MAX_PACKET_SIZE_BYTES, version, side)  # type: ignore[arg-type]


def read_whole(case: Case) -> None:
    decoder = decoder_of(case)
    assert decoder.feed(case[0].wire) == [case[0].packet]
    assert decoder.error is None
    assert decoder.version == case[1]


def read_byte_by_byte(case: Case) -> None:
    decoder = decoder_of(case)
    wire = case[0].wire
    for index in range(len(wire) - 1):
        assert decoder.feed(wire[index : index + 1]) == []
    assert decoder.feed(wire[-1:]) == [case[0].packet]
    assert decoder.error is None


def read_with_others_behind(case: Case) -> None:
    decoder = decoder_of(case)
    ping = PINGREQ if case[2] == "client" else PINGRESP
    packets = decoder.feed(case[0].wire + ping + ping[:1])
    assert packets[0] == case[0].packet
    assert len(packets) == 2
    packets = decoder.feed(ping[1:])
    assert len(packets) == 1
    assert decoder.error is None


def read_cut_anywhere(case: Case) -> None:
    wire = case[0].wire
    for cut in range(min(len(wire), CUTS_MAX)):
        decoder = decoder_of(case)
        assert decoder.feed(wire[:cut]) == []
        assert decoder.error is None
        assert decoder.feed(wire[cut:]) == [case[0].packet]


Reading = Callable[[Case], None]
READINGS: list[Reading] = [
    read_whole,
    read_byte_by_byte,
    read_with_others_behind,
    read_cut_anywhere,
]
every_reading = pytest.mark.parametrize("read", READINGS, ids=lambda read: read.__name__)
