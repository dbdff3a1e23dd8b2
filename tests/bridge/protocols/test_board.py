"""Streams of frames from boards: cut, mixed with text, damaged, overlong."""

from firmware_bridge.protocols.board import FRAME_BYTES_MAX, Board, BoardDecoder
from firmware_bridge.protocols.board_frame import acknowledgement_of, frame_bytes_of
from firmware_bridge.readings.measurement import Measurement
from firmware_bridge.readings.numbering import BoardIdentity
from hypothesis import given
from hypothesis import strategies as st

IDENTITY = BoardIdentity(42, 1, 1)
GOOD = frame_bytes_of(IDENTITY, [Measurement("temperature", 21.5, "Cel", -0.25)])


def test_a_frame_comes_with_what_its_board_waits_for() -> None:
    (frame,) = Board().decoder().feed(GOOD)
    assert frame.identity == IDENTITY
    assert frame.acknowledgement == acknowledgement_of(IDENTITY)
    assert Board.can_wait


def test_an_overlong_frame_is_skipped_up_to_its_end_and_the_next_is_read() -> None:
    decoder = BoardDecoder()
    found = decoder.feed(b"\x00" + b"x" * (FRAME_BYTES_MAX + 1) + b"\x00" + GOOD)
    assert [each.identity for each in found] == [IDENTITY]
    assert decoder.tally.damaged == {"overlong": 1}


def test_a_frame_cut_by_a_lost_port_is_not_joined_to_the_next() -> None:
    decoder = BoardDecoder()
    decoder.feed(GOOD[:-4])
    decoder.begin(mid_line=True)
    assert [each.identity for each in decoder.feed(GOOD)] == [IDENTITY]
    assert not decoder.tally.damaged


def test_text_before_a_frame_costs_nothing_but_itself() -> None:
    decoder = BoardDecoder()
    assert len(decoder.feed(b"ets Jun  8 2016 00:22:57\r\nrst:0x1\r\n" + GOOD)) == 1
    assert decoder.tally.damaged.total() == 1


@given(st.data())
def test_any_flipped_bits_are_found_and_never_raise(data: st.DataObject) -> None:
    position = data.draw(st.integers(1, len(GOOD) - 2))
    mask = data.draw(st.integers(1, 255))
    broken = GOOD[:position] + bytes((GOOD[position] ^ mask,)) + GOOD[position + 1 :]
    decoder = BoardDecoder()
    assert [each.identity for each in decoder.feed(broken + GOOD)] == [IDENTITY]
    assert decoder.tally.damaged


@given(st.lists(st.binary(max_size=400)))
def test_no_bytes_make_the_decoder_raise_or_lose_the_next_frame(pieces: list[bytes]) -> None:
    decoder = BoardDecoder()
    for piece in pieces:
        decoder.feed(piece)
    assert decoder.feed(GOOD)[-1].identity == IDENTITY
