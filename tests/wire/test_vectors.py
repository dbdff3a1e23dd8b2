"""The table of packets, read whole, byte by byte, with bytes behind, and written back."""

import pytest

from gateway.wire.decoder import Decoder
from gateway.wire.encoder import encode
from gateway.wire.packets import Connect, Packet, Publish
from tests.wire.alternative_vectors import ALTERNATIVES
from tests.wire.vector import Sender, Vector
from tests.wire.vectors import PUBLISHES, VECTORS

MAX_PACKET_SIZE_BYTES = 1_048_576
PINGREQ = b"\xc0\x00"
PINGRESP = b"\xd0\x00"

Case = tuple[Vector, int, Sender]


def cases(vectors: list[Vector]) -> list[object]:
    return [
        pytest.param((vector, version, sender), id=f"{vector.name}, {version}, {sender}")
        for vector in vectors
        for version in vector.versions
        for sender in vector.senders
    ]


def decoder_of(case: Case) -> Decoder:
    vector, version, sender = case
    if isinstance(vector.packet, Connect):
        return Decoder(MAX_PACKET_SIZE_BYTES)
    side = "server" if sender == "client" else "client"
    return Decoder(MAX_PACKET_SIZE_BYTES, version, side)  # type: ignore[arg-type]


@pytest.mark.parametrize("case", cases([*VECTORS, *ALTERNATIVES]))
def test_a_packet_is_decoded_whole(case: Case) -> None:
    decoder = decoder_of(case)
    assert decoder.feed(case[0].wire) == [case[0].packet]
    assert decoder.error is None
    assert decoder.version == case[1]


@pytest.mark.parametrize("case", cases([*VECTORS, *ALTERNATIVES]))
def test_a_packet_is_decoded_byte_by_byte(case: Case) -> None:
    decoder = decoder_of(case)
    wire = case[0].wire
    for index in range(len(wire) - 1):
        assert decoder.feed(wire[index : index + 1]) == []
    assert decoder.feed(wire[-1:]) == [case[0].packet]
    assert decoder.error is None


@pytest.mark.parametrize("case", cases([*VECTORS, *ALTERNATIVES]))
def test_a_packet_is_decoded_with_others_behind_it(case: Case) -> None:
    decoder = decoder_of(case)
    ping = PINGREQ if case[2] == "client" else PINGRESP
    packets = decoder.feed(case[0].wire + ping + ping[:1])
    assert packets[0] == case[0].packet
    assert len(packets) == 2
    packets = decoder.feed(ping[1:])
    assert len(packets) == 1
    assert decoder.error is None


@pytest.mark.parametrize("case", cases([*VECTORS, *ALTERNATIVES]))
def test_every_beginning_of_a_packet_is_waited_with(case: Case) -> None:
    wire = case[0].wire
    for cut in range(min(len(wire), 200)):
        decoder = decoder_of(case)
        assert decoder.feed(wire[:cut]) == []
        assert decoder.error is None
        assert decoder.feed(wire[cut:]) == [case[0].packet]


@pytest.mark.parametrize("case", cases(VECTORS))
def test_a_packet_is_encoded_to_the_same_bytes(case: Case) -> None:
    assert encode(case[0].packet, case[1]) == case[0].wire


@pytest.mark.parametrize("case", cases(PUBLISHES))
def test_a_publish_keeps_the_bytes_that_can_be_sent_on(case: Case) -> None:
    packet = decoder_of(case).feed(case[0].wire)[0]
    assert isinstance(packet, Publish)
    assert packet.frame == (b"" if packet.qos else case[0].wire)
    topic = packet.topic.encode()
    assert packet.topic_field == len(topic).to_bytes(2, "big") + topic


def test_every_packet_type_is_in_the_table() -> None:
    assert {vector.packet.kind for vector in VECTORS} == set(range(1, 16))


def test_packets_differ_if_any_field_differs() -> None:
    packets: list[Packet] = [vector.packet for vector in VECTORS]
    for index, packet in enumerate(packets):
        equal = [other for other in packets if other == packet]
        # The same packet can stand in the table for two versions, with other bytes.
        assert packet in equal
        assert all(repr(other) == repr(packet) for other in equal), index
