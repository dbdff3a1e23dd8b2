"""Encoders for the fields of a packet.

The caller must not pass values that exceed the standard's maximum sizes. A value that does not fit
into its field is a bug in the caller, and causes an assertion to fail.
"""

from typing import Final

from gateway.broker.wire.limits import PACKET_ID_MAX, STRING_BYTES_MAX, VARIABLE_BYTE_INTEGER_MAX

# Every byte value as a bytes object. A lookup takes a third of the time of creating one.
BYTE: Final = [bytes([value]) for value in range(256)]


def variable_byte_integer(value: int) -> bytes:
    """Encode an integer in one to four bytes with seven bits each, least significant first.

    This encoding is defined in [MQTT-2.2.3].
    """
    if value < 128:
        return BYTE[value]
    if value < 16_384:
        return BYTE[value & 0x7F | 0x80] + BYTE[value >> 7]
    if value < 2_097_152:
        return BYTE[value & 0x7F | 0x80] + BYTE[value >> 7 & 0x7F | 0x80] + BYTE[value >> 14]
    assert value <= VARIABLE_BYTE_INTEGER_MAX, (
        f"{value} as variable byte integer: at most {VARIABLE_BYTE_INTEGER_MAX} fits"
    )
    return (
        BYTE[value & 0x7F | 0x80]
        + BYTE[value >> 7 & 0x7F | 0x80]
        + BYTE[value >> 14 & 0x7F | 0x80]
        + BYTE[value >> 21]
    )


def packet_id_field(packet_id: int) -> bytes:
    assert 0 < packet_id <= PACKET_ID_MAX, f"packet identifier {packet_id}: expected 1 to 65535"
    return packet_id.to_bytes(2, "big")


def binary_field(value: bytes) -> bytes:
    """Encode binary data as a field: length u16, then the bytes."""
    assert len(value) <= STRING_BYTES_MAX, (
        f"field of {len(value)} bytes: at most {STRING_BYTES_MAX} fit behind a two-byte length"
    )
    return len(value).to_bytes(2, "big") + value


def string_field(value: str) -> bytes:
    return binary_field(value.encode("utf-8"))


def frame_of(first: int, body: bytes) -> bytes:
    """Assemble a packet from its first byte, the encoded length of its body, and its body."""
    return BYTE[first] + variable_byte_integer(len(body)) + body
