"""Fields of a packet are written as bytes; a value that does not fit is refused."""

import pytest

from gateway.broker.wire.writing import (
    binary_field,
    frame_of,
    packet_id_field,
    string_field,
    variable_byte_integer,
)


@pytest.mark.parametrize(
    ("value", "wire"),
    [
        (0, "00"),
        (127, "7f"),
        (128, "8001"),
        (16_383, "ff7f"),
        (16_384, "808001"),
        (2_097_151, "ffff7f"),
        (2_097_152, "80808001"),
        (268_435_455, "ffffff7f"),
    ],
)
def test_variable_byte_integers_are_as_in_the_table_of_the_standard(value: int, wire: str) -> None:
    assert variable_byte_integer(value) == bytes.fromhex(wire)


def test_a_field_has_its_length_before_it() -> None:
    assert binary_field(b"") == b"\x00\x00"
    assert string_field("\u00e9") == b"\x00\x02\xc3\xa9"
    assert binary_field(bytes(65_535))[:3] == b"\xff\xff\x00"
    assert frame_of(0xC0, b"") == b"\xc0\x00"
    assert frame_of(0x30, bytes(200))[:4] == b"\x30\xc8\x01\x00"


def test_a_field_that_does_not_fit_is_our_own_mistake() -> None:
    with pytest.raises(AssertionError, match="at most 268435455"):
        variable_byte_integer(268_435_456)
    with pytest.raises(AssertionError, match="65536 bytes"):
        string_field("\u00e9" * 32_768)
    for packet_id in (0, 65_536):
        with pytest.raises(AssertionError, match="expected 1 to 65535"):
            packet_id_field(packet_id)
