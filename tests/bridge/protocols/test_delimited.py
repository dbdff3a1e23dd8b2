"""Frames between delimiters: split in any pieces, or too long."""

import re

from firmware_bridge.protocols.delimited import DelimitedDecoder
from firmware_bridge.protocols.frame import Damaged, Frame
from firmware_bridge.readings.measurement import Measurement
from hypothesis import given
from hypothesis import strategies as st

BYTES_MAX = 8


class Semicolons(DelimitedDecoder):
    def __init__(self) -> None:
        super().__init__(re.compile(b";"), BYTES_MAX)

    def read_frame(self, data: bytes) -> Frame | None:
        if data == b"bad":
            raise Damaged("syntax")
        return None if data == b"none" else Frame({"text": [Measurement("text", data.decode())]})


def values(decoder: DelimitedDecoder, *pieces: bytes) -> list[object]:
    return [frame.quantities["text"][0].value for piece in pieces for frame in decoder.feed(piece)]


def test_empty_pieces_and_those_without_a_reading_are_neither_frames_nor_damage() -> None:
    decoder = Semicolons()
    assert values(decoder, b";;one;none;two;") == ["one", "two"]
    assert not decoder.tally.damaged


def test_damage_is_counted_by_its_reason_and_costs_one_frame() -> None:
    decoder = Semicolons()
    assert values(decoder, b"one;bad;two;") == ["one", "two"]
    assert decoder.tally.damaged == {"syntax": 1}


def test_a_frame_of_the_greatest_length_is_read_and_a_longer_one_counted_once() -> None:
    decoder = Semicolons()
    longest = b"x" * BYTES_MAX
    assert values(decoder, longest + b";") == [longest.decode()]
    assert values(decoder, longest, b"x", longest, longest + b";next;") == ["next"]
    assert decoder.tally.damaged == {"overlong": 1}


def test_opening_the_port_forgets_a_part_and_ends_the_skipping() -> None:
    decoder = Semicolons()
    decoder.feed(b"par")
    decoder.begin(mid_line=False)
    assert values(decoder, b"one;") == ["one"]
    decoder.feed(b"x" * (BYTES_MAX + 1))
    decoder.begin(mid_line=False)
    assert values(decoder, b"two;") == ["two"]


@given(st.lists(st.sampled_from([b"a", b"bc;", b";", b"none;", b"x" * 5, b"bad"])), st.data())
def test_frames_do_not_depend_on_the_pieces_they_come_in(
    parts: list[bytes], data: st.DataObject
) -> None:
    stream = b"".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=5)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    whole, cut = Semicolons(), Semicolons()
    assert values(whole, stream) == values(cut, *pieces)
    assert whole.tally.damaged == cut.tally.damaged
