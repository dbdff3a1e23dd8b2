"""Lines of text from a stream: line ends, cuts, lengths, characters."""

from collections import Counter

import pytest
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.lines import LINE_BYTES_MAX, LineDecoder
from firmware_bridge.readings.measurement import Measurement
from hypothesis import given
from hypothesis import strategies as st


def text(line: str, skipped: Counter[str]) -> dict[str, Measurement]:
    skipped["seen"] += 1
    if line == "bad":
        raise Damaged("syntax")
    return {} if line == "heading" else {"text": Measurement("text", line)}


def decoder(*, can_mistake_part_of_line: bool = True) -> LineDecoder:
    return LineDecoder(text, can_mistake_part_of_line=can_mistake_part_of_line)


def lines(decoder: LineDecoder, *pieces: bytes) -> list[object]:
    return [frame.quantities["text"][0].value for piece in pieces for frame in decoder.feed(piece)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_a_line_is_read_whole_or_byte_by_byte_whatever_ends_it(end: bytes) -> None:
    stream = b"one" + end + "zw\u00f6lf".encode() + end
    assert lines(decoder(), stream) == ["one", "zw\u00f6lf"]
    assert lines(decoder(), *(bytes((byte,)) for byte in stream)) == ["one", "zw\u00f6lf"]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"bad", "syntax"),
        (b"a\xff", "utf8"),
        (b"1" * (LINE_BYTES_MAX + 1), "overlong"),
        (b"1" * (3 * LINE_BYTES_MAX), "overlong"),
    ],
    ids=["syntax", "utf8", "overlong", "very long"],
)
def test_a_damaged_line_is_counted_by_reason_and_the_next_good_one_is_read(
    line: bytes, reason: str
) -> None:
    reader = decoder()
    assert lines(reader, line + b"\ngood\n") == ["good"]
    assert reader.tally.damaged == {reason: 1}
    assert reader.tally.skipped == {"seen": 1}, "a damaged line has no values to leave out"


def test_colours_of_a_log_are_no_part_of_its_values() -> None:
    assert lines(decoder(), b"\x1b[0;32mtemp=21.5 hum=40\x1b[0m\r\n") == ["temp=21.5 hum=40"]


@pytest.mark.parametrize("line", [b"\x1b[2J\x1b[Hgood\x1b[K", b"\x00\x00good\x00", b"\x07good"])
def test_what_a_terminal_or_a_starting_board_adds_is_no_part_of_a_line(line: bytes) -> None:
    assert lines(decoder(), line + b"\n") == ["good"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (b"21.5\xb0C 40%", "21.5°C 40%"),
        (b"21.5 \xb0F", "21.5 °F"),
        (b"T (\xb0C)", "T (°C)"),
        (b"12 \xb5g/m\xb3", "12 µg/m³"),
    ],
)
def test_signs_of_units_in_latin_1_are_read(line: bytes, expected: str) -> None:
    assert lines(decoder(), line + b"\n") == [expected]


@pytest.mark.parametrize("line", [b"21\xb05", b"\xb0", b"a\xb5g", b"21.5\xdfC"])
def test_other_bytes_that_are_not_utf_8_are_damage(line: bytes) -> None:
    reader = decoder()
    assert lines(reader, line + b"\n") == []
    assert reader.tally.damaged == {"utf8": 1}


GILL = b"\x02Q,229,002.74,M,00,\x03"


@pytest.mark.parametrize(
    ("line", "damaged"),
    [
        (GILL + b"16", {}),
        (GILL, {}),
        (GILL + b" \t", {}),
        (b"\x00" + GILL + b"16", {}),
        (GILL + b"17", {"checksum": 1}),
        (GILL[2:] + b"16", {"text": 1}),
        (GILL + b"16 more", {"text": 1}),
    ],
)
def test_a_line_between_stx_and_etx_is_checked_and_read(
    line: bytes, damaged: dict[str, int]
) -> None:
    reader = decoder()
    assert lines(reader, line + b"\r\n") == ([] if damaged else ["Q,229,002.74,M,00,"])
    assert reader.tally.damaged == damaged


def test_control_characters_inside_a_line_are_damage() -> None:
    reader = decoder()
    assert lines(reader, "good\n".encode("utf-16-le") + b"\nbad\x08good\ngood\n") == ["good"]
    assert reader.tally.damaged == {"text": 2}


def test_a_byte_order_mark_is_no_part_of_the_first_line() -> None:
    assert lines(decoder(), b"\xef\xbb\xbfgood\n\xef\xbb\xbf\ngood\n") == ["good", "good"]


def test_empty_lines_and_lines_without_measurements_are_neither_frames_nor_damage() -> None:
    reader = decoder()
    assert lines(reader, b"\n\r\n  \nheading\ngood\n") == ["good"]
    assert not reader.tally.damaged


def test_a_line_cut_by_opening_the_port_does_not_count_as_a_whole_one() -> None:
    reader = decoder()
    reader.begin(mid_line=True)
    assert lines(reader, b"of a line\nwhole\n") == ["whole"]
    assert reader.tally.damaged == {"truncated": 1}


def test_a_form_whose_parts_are_damage_by_themselves_loses_no_first_line() -> None:
    reader = decoder(can_mistake_part_of_line=False)
    reader.begin(mid_line=True)
    assert lines(reader, b"whole\n") == ["whole"]
    assert not reader.tally.damaged


def test_a_line_cut_by_a_lost_port_is_not_joined_to_the_next() -> None:
    reader = decoder()
    reader.begin(mid_line=False)
    reader.feed(b"temperature=2")
    reader.begin(mid_line=False)
    assert lines(reader, b"temperature=21.5\n") == ["temperature=21.5"]
    assert reader.tally.damaged == {"truncated": 1}


@given(st.lists(st.binary(max_size=200)))
def test_no_bytes_make_a_line_decoder_raise(pieces: list[bytes]) -> None:
    reader = decoder()
    for piece in pieces:
        reader.feed(piece)
