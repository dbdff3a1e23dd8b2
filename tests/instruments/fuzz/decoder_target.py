"""Any bytes through the Decoder, as any version and either side, whole and in pieces.

An input::

    set-up u8 | piece u8 | piece u8 | bytes of the peer

The promises are those of gateway/broker/wire/decoder.py: no exception, the same result for any
split, memory in proportion to the received bytes, and an error that states its reason. Accepted
packets can be encoded again.
"""

import tracemalloc
from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.kinds import CONNACK, CONNECT, DISCONNECT
from gateway.broker.wire.malformed import REASONS, UNSUPPORTED_PROTOCOL, Malformed
from gateway.broker.wire.packets import Packet, Publish, topic_field_of
from gateway.broker.wire.reason_codes import allowed_reason_codes
from tests.instruments.fuzz.byte_program import ByteProgram

Side = Literal["server", "client"]
MakeDecoder = Callable[[int, int, Side], Decoder]

VERSIONS: Final = (0, 3, 4, 5)
PACKET_SIZES_MAX_BYTES: Final = (1_048_576, 2, 64, 268_435_460)
SIDE_BIT: Final = 0x10
MEMORY_MASK: Final = 0xE0
MEMORY_MEASURED: Final = 0x20
"""One set-up in eight measures memory: tracemalloc is slow, and leaks some 100 bytes per start."""

MEMORY_FREE_BYTES: Final = 65_536
"""Bytes that decoding may allocate for any input: decoder, caches, interpreter."""

MEMORY_FACTOR: Final = 400
"""Bytes of memory per received byte: a filter of 4 bytes becomes a Subscription and its string."""

DETAIL_CHARACTERS_MAX: Final = 600
"""Largest length of a detail. It is logged and sent as a reason string, so it must stay short."""

ANSWERS: Final = allowed_reason_codes(DISCONNECT, False) | allowed_reason_codes(CONNACK, False)
"""Reason codes that a peer can receive."""


class SetUp(NamedTuple):
    """The settings in the first byte of an input."""

    version: int
    side: Side
    packet_size_max_bytes: int
    measures_memory: bool


class Outcome(NamedTuple):
    """The result of a Decoder for the bytes."""

    packets: list[Packet]
    error: tuple[str, str, int] | None
    version: int


def set_up_of(byte: int) -> SetUp:
    """Return the settings in a first byte. A client always has a known version."""
    version = VERSIONS[byte & 3]
    side: Side = "client" if byte & SIDE_BIT and version else "server"
    return SetUp(
        version, side, PACKET_SIZES_MAX_BYTES[byte >> 2 & 3], byte & MEMORY_MASK == MEMORY_MEASURED
    )


def check(data: bytes, make: MakeDecoder = Decoder) -> None:
    """Decode an input, and raise if a promise is broken."""
    program = ByteProgram(data)
    set_up = set_up_of(program.byte())
    sizes = (program.byte() + 1, program.byte() + 1)
    wire = program.rest()
    decoder = _decoder(make, set_up)
    whole = _measured(decoder, wire) if set_up.measures_memory else _outcome(decoder, [wire])
    _check_error(decoder)
    assert _outcome(_decoder(make, set_up), _pieces(wire, sizes)) == whole, "another outcome"
    assert _outcome(_decoder(make, set_up), _pieces(wire, (1, 1))) == whole, "another, byte by byte"
    for packet in whole.packets:
        _check_packet(packet, whole.version, set_up.side)


def _decoder(make: MakeDecoder, set_up: SetUp) -> Decoder:
    return make(set_up.packet_size_max_bytes, set_up.version, set_up.side)


def _pieces(wire: bytes, sizes: tuple[int, int]) -> list[bytes]:
    """Split bytes into pieces whose sizes alternate between the two."""
    pieces: list[bytes] = []
    position = 0
    while position < len(wire):
        size = sizes[len(pieces) % 2]
        pieces.append(wire[position : position + size])
        position += size
    return pieces


def _outcome(decoder: Decoder, pieces: list[bytes]) -> Outcome:
    packets: list[Packet] = []
    for piece in pieces:
        packets += decoder.feed(piece)
    error = decoder.error
    said = None if error is None else (error.reason, error.detail, error.reason_code)
    return Outcome(packets, said, decoder.version)


def _measured(decoder: Decoder, wire: bytes) -> Outcome:
    tracemalloc.start()
    try:
        outcome = _outcome(decoder, [wire])
        _, peak_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    allowed_bytes = MEMORY_FREE_BYTES + MEMORY_FACTOR * len(wire)
    assert peak_bytes <= allowed_bytes, f"{peak_bytes} bytes of memory for {len(wire)} bytes"
    return outcome


def _check_error(decoder: Decoder) -> None:
    error = decoder.error
    if error is None:
        return
    _check_said(error)
    assert decoder.feed(b"\xc0\x00\xd0\x00") == [], "packets behind an error"
    assert decoder.error is error, "a second error"


def _check_said(error: Malformed) -> None:
    assert error.reason in REASONS, f"unknown reason {error.reason!r}"
    assert error.reason_code in ANSWERS, f"no client can receive 0x{error.reason_code:02X}"
    assert 20 < len(error.detail) <= DETAIL_CHARACTERS_MAX, f"detail {error.detail!r}"
    assert error.detail.isprintable(), f"detail {error.detail!r} would write into the terminal"
    # The level selects the version of the CONNACK, so the broker must support it.
    is_spoken = error.protocol_level in (0, 3, 4, 5)
    assert is_spoken or error.reason == UNSUPPORTED_PROTOCOL, "a level that is not spoken"
    assert error.__traceback__ is None, "an error that keeps the peer's bytes alive"


def _check_packet(packet: Packet, version: int, side: Side) -> None:
    """Check that an accepted packet can be encoded, and has the same meaning afterwards."""
    _check_wire(packet, encode(packet, version), version, side)
    if isinstance(packet, Publish):
        assert packet.topic_field == topic_field_of(packet.topic), "topic and its bytes differ"
        if packet.frame:
            _check_wire(packet, packet.frame, version, side)


def _check_wire(packet: Packet, wire: bytes, version: int, side: Side) -> None:
    decoder = Decoder(PACKET_SIZES_MAX_BYTES[-1], 0 if packet.kind == CONNECT else version, side)
    again = decoder.feed(wire)
    assert again == [packet], f"{packet!r} became {again!r}, {decoder.error!r}"
