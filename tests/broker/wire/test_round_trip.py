"""Encoding and decoding of random packets and random bytes."""

from typing import Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.malformed import REASONS
from gateway.broker.wire.packets import Packet
from tests.broker.wire.malformed_vectors import MALFORMED
from tests.broker.wire.strategies import connects, packets
from tests.broker.wire.vectors import VECTORS

Side = Literal["server", "client"]
MAX_PACKET_SIZE_BYTES = 1_048_576
versions = pytest.mark.parametrize("version", [3, 4, 5])
sides = pytest.mark.parametrize("side", ["server", "client"])

# Valid and invalid packets, as pieces that pass many checks of the decoder.
pieces = st.one_of(
    st.binary(max_size=20),
    st.sampled_from([vector.wire for vector in VECTORS if len(vector.wire) < 300]),
    st.sampled_from([bad.wire for bad in MALFORMED if len(bad.wire) < 300]),
)


def in_pieces(wire: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({cut % (len(wire) + 1) for cut in cuts})
    return [wire[a:b] for a, b in zip([0, *places], [*places, len(wire)], strict=True)]


def outcome(decoder: Decoder, parts: list[bytes]) -> tuple[list[Packet], str, int]:
    decoded: list[Packet] = []
    for part in parts:
        decoded += decoder.feed(part)
    error = decoder.error
    return decoded, "" if error is None else error.reason + error.detail, decoder.version


@versions
@given(data=st.data())
def test_a_connect_is_decoded_to_what_was_encoded(version: int, data: st.DataObject) -> None:
    connect = data.draw(connects(version))
    decoder = Decoder(MAX_PACKET_SIZE_BYTES)
    assert decoder.feed(encode(connect, version)) == [connect]
    assert (decoder.error, decoder.version) == (None, version)


@versions
@sides
@settings(max_examples=300)
@given(data=st.data())
def test_packets_are_decoded_to_what_was_encoded_for_any_split(
    version: int, side: Side, data: st.DataObject
) -> None:
    sent = data.draw(st.lists(packets(version, side == "server"), min_size=1, max_size=4))
    wire = b"".join([encode(packet, version) for packet in sent])
    cuts = data.draw(st.lists(st.integers(0, 10_000), max_size=4))
    decoder = Decoder(MAX_PACKET_SIZE_BYTES, version, side)
    assert outcome(decoder, in_pieces(wire, cuts)) == (sent, "", version)


@sides
@settings(max_examples=500)
@given(
    version=st.sampled_from([0, 3, 4, 5]),
    parts=st.lists(pieces, max_size=6),
    cuts=st.lists(st.integers(0, 10_000), max_size=4),
    max_packet_size_bytes=st.sampled_from([2, 10, 64, MAX_PACKET_SIZE_BYTES]),
)
def test_any_bytes_have_one_outcome_however_they_are_cut(
    side: Side, version: int, parts: list[bytes], cuts: list[int], max_packet_size_bytes: int
) -> None:
    if side == "client":
        version = version or 4
    wire = b"".join(parts)
    whole = outcome(Decoder(max_packet_size_bytes, version, side), [wire])
    cut = outcome(Decoder(max_packet_size_bytes, version, side), in_pieces(wire, cuts))
    single = [wire[index : index + 1] for index in range(len(wire))]
    assert cut == whole
    assert outcome(Decoder(max_packet_size_bytes, version, side), single) == whole


@settings(max_examples=500)
@given(
    wire=st.sampled_from([vector.wire for vector in VECTORS if len(vector.wire) < 300]),
    position=st.integers(0, 400),
    value=st.integers(0, 255),
    version=st.sampled_from([0, 3, 4, 5]),
)
def test_a_packet_with_a_byte_changed_is_decoded_or_refused(
    wire: bytes, position: int, value: int, version: int
) -> None:
    changed = bytearray(wire)
    changed[position % len(wire)] = value
    decoder = Decoder(MAX_PACKET_SIZE_BYTES, version)
    decoded = decoder.feed(bytes(changed))
    if decoder.error is not None:
        assert decoder.error.reason in REASONS
    # Every packet that the decoder accepts can be encoded again.
    for packet in decoded:
        again = Decoder(MAX_PACKET_SIZE_BYTES, 0 if packet.kind == 1 else decoder.version)
        assert again.feed(encode(packet, decoder.version)) == [packet]
