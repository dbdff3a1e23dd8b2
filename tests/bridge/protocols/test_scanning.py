"""Frames between noise, with a framing that only this test has: 0xAA 0xBB, length, bytes."""

import pytest
from firmware_bridge.protocols.frame import Damaged, Frame
from firmware_bridge.protocols.scanning import ScanningDecoder
from firmware_bridge.readings.measurement import Measurement
from hypothesis import given
from hypothesis import strategies as st

from tests.bridge.protocols.feeding import check_any_pieces

START = b"\xaa\xbb"


class Counted(ScanningDecoder):
    """A framing of start bytes, the length of the whole frame, content, and a final 0x55."""

    def __init__(self) -> None:
        super().__init__(START)

    def end_of(self, buffer: bytes, position: int) -> int | None:
        length = buffer[position + 2 : position + 3]
        if not length:
            return None
        if length == b"\xff":
            return position
        if length[0] < 4:
            raise Damaged("length")
        return position + length[0]

    def read_frame(self, data: bytes) -> Frame | None:
        if not data.endswith(b"\x55"):
            raise Damaged("end")
        return Frame({"a": [Measurement("a", data[3:-1])]})


GOOD = START + b"\x05\x07\x55"


@pytest.mark.parametrize(
    ("before", "damaged", "foreign"),
    [
        (b"", {}, {}),
        (b"xyz\xaa", {}, {"noise": 1}),
        (START + b"\x05\x07\x56", {"end": 1}, {}),
        (START + b"\x02", {"length": 1}, {}),
        (START + b"\xff", {}, {"noise": 1}),
        (START + b"\x05", {"end": 1}, {}),
        (START + b"\x09" + GOOD[:4] + b"\0\0", {"end": 1}, {}),
    ],
)
def test_damage_and_noise_are_counted_once_and_the_next_frame_is_read(
    before: bytes, damaged: dict[str, int], foreign: dict[str, int]
) -> None:
    decoder = Counted()
    assert len(decoder.feed(before + GOOD)) == 1
    assert (decoder.tally.damaged, decoder.tally.foreign) == (damaged, foreign)


def test_a_frame_within_what_looked_like_a_longer_one_is_found_when_the_line_is_silent() -> None:
    decoder = Counted()
    assert decoder.feed(START + b"\x50" + GOOD) == []
    assert len(decoder.flush()) == 1
    assert decoder.tally.damaged == {"truncated": 1}


def test_what_an_earlier_opening_of_the_port_left_is_forgotten() -> None:
    decoder = Counted()
    decoder.feed(GOOD[:-1])
    decoder.begin(mid_line=True)
    assert len(decoder.feed(b"\x55" + GOOD)) == 1
    assert (decoder.tally.damaged, decoder.tally.foreign) == ({"truncated": 1}, {})


@given(st.lists(st.sampled_from([GOOD, START, b"\xaa", b"\x05", b"\xff", b"\x55", b"x"])))
def test_any_mixture_gives_the_same_in_any_pieces(parts: list[bytes]) -> None:
    check_any_pieces(Counted, b"".join(parts))
