"""Fields are read from the bytes of a packet, and never beyond the packet's end."""

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.wire.malformed import Malformed
from gateway.broker.wire.reading import Reader, text_of
from gateway.broker.wire.writing import binary_field, string_field, variable_byte_integer

READS: dict[str, tuple[bytes, Callable[[Reader], object], object]] = {
    "byte": (b"\x07", lambda reader: reader.byte("field"), 7),
    "two bytes": (b"\x01\x02", lambda reader: reader.two_bytes("field"), 0x0102),
    "four bytes": (b"\x01\x02\x03\x04", lambda reader: reader.four_bytes("field"), 0x01020304),
    "variable": (
        b"\xff\xff\x7f",
        lambda reader: reader.variable_byte_integer("field"),
        2_097_151,
    ),
    "packet identifier": (b"\xff\xfe", lambda reader: reader.packet_id(), 0xFFFE),
    "binary": (b"\x00\x02\xff\x00", lambda reader: reader.binary("field"), b"\xff\x00"),
    "string": (b"\x00\x02\xc3\xa9", lambda reader: reader.string("field"), "\u00e9"),
}
every_read = pytest.mark.parametrize("name", list(READS))


@every_read
def test_a_field_is_read_from_the_middle_of_a_buffer(name: str) -> None:
    wire, read, expected = READS[name]
    reader = Reader(b"before" + wire + b"behind", 6, 6 + len(wire) + 6, "PUBLISH")
    assert read(reader) == expected
    assert reader.data[reader.position :] == b"behind"


@every_read
def test_a_field_that_its_packet_cuts_off_is_refused_although_the_buffer_goes_on(name: str) -> None:
    wire, read, _ = READS[name]
    for cut in range(len(wire)):
        reader = Reader(wire + bytes(10), 0, cut, "SUBSCRIBE")
        with pytest.raises(Malformed, match="SUBSCRIBE ends inside its") as refusal:
            read(reader)
        assert (refusal.value.reason, refusal.value.reason_code) == ("field_truncated", 0x81)


@given(value=st.integers(0, 268_435_455))
def test_a_variable_byte_integer_is_read_as_it_was_written(value: int) -> None:
    wire = variable_byte_integer(value)
    reader = Reader(wire, 0, len(wire), "PUBLISH")
    assert reader.variable_byte_integer("field") == value
    assert reader.at_end()


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_a_string_is_read_as_it_was_written(text: str) -> None:
    wire = string_field(text)
    assert Reader(wire, 0, len(wire), "PUBLISH").string("field") == text


@given(raw=st.binary(max_size=40))
def test_a_string_is_text_of_the_standard_or_refused(raw: bytes) -> None:
    wire = binary_field(raw)
    reader = Reader(wire, 0, len(wire), "PUBLISH")
    text = raw.decode("utf-8", "replace")
    if text.encode() == raw and "\0" not in text:
        assert reader.string("field") == text
        return
    with pytest.raises(Malformed) as refusal:
        reader.string("field")
    assert refusal.value.reason == "string_encoding"
    # The exception of the UTF-8 decoder would keep the peer's bytes in memory.
    assert refusal.value.__context__ is None


def test_the_byte_that_is_not_utf_8_is_named() -> None:
    with pytest.raises(Malformed, match="topic name is not UTF-8 at byte 2"):
        text_of(b"ab\xff", "topic name")


@pytest.mark.parametrize("wire", [b"\x80\x00", b"\xff\x80\x00", b"\x80\x80\x80\x80\x01"])
def test_a_variable_byte_integer_that_is_too_long_is_refused(wire: bytes) -> None:
    with pytest.raises(Malformed) as refusal:
        Reader(wire, 0, len(wire), "PUBLISH").variable_byte_integer("property length")
    assert refusal.value.reason == "remaining_length"


def test_a_packet_identifier_is_not_zero() -> None:
    with pytest.raises(Malformed) as refusal:
        Reader(b"\x00\x00", 0, 2, "PUBACK").packet_id()
    assert (refusal.value.reason, refusal.value.reason_code) == ("packet_id_zero", 0x82)


def test_bytes_behind_the_last_field_are_refused_with_their_number() -> None:
    reader = Reader(b"\x01\x02\x03", 0, 3, "PINGREQ")
    reader.byte("field")
    with pytest.raises(Malformed, match="PINGREQ has 2 bytes after its last field") as refusal:
        reader.finish()
    assert refusal.value.reason == "trailing_bytes"
    reader.two_bytes("field")
    reader.finish()
