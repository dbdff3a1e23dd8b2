"""One start of a board: the latest frames that are known, and their contents."""

from firmware_bridge.outbox.board_start import (
    BLOCKS_PER_START_MAX,
    FRAMES_AHEAD_MAX,
    FRAMES_REMEMBERED,
    RESENDS_MAX,
    BoardStart,
)


def digest(contents: int) -> bytes:
    return contents.to_bytes(8, "big")


def start_with(*sequences: int) -> BoardStart:
    start = BoardStart(boot=1, repeat=0)
    for sequence in sequences:
        start.accept(sequence, digest(sequence))
    return start


def test_a_frame_is_resent_only_with_the_same_contents() -> None:
    start = start_with(1)
    assert start.is_resent(1, digest(1))
    assert not start.is_resent(1, digest(2))
    assert not start.is_resent(2, digest(1))


def test_more_resends_than_a_board_has_on_the_line_are_none() -> None:
    start = start_with(*range(1, RESENDS_MAX + 2))
    for sequence in range(1, RESENDS_MAX + 1):
        assert start.is_resent(sequence, digest(sequence))
        start.note_resent(sequence)
    last = RESENDS_MAX + 1
    assert not start.is_resent(last, digest(last))
    start.accept(last + 1, digest(last + 1))
    assert start.is_resent(last, digest(last)), "a new frame ends a series of resends"


def test_a_gap_and_the_next_frames_are_free_and_nothing_far_behind() -> None:
    start = start_with(1, 3)
    assert start.is_next(2)
    assert start.is_next(3 + FRAMES_AHEAD_MAX)
    assert not start.is_next(4 + FRAMES_AHEAD_MAX)
    assert not start.is_free(3)
    assert not start_with(5000).is_free(5000 - FRAMES_REMEMBERED)


def test_old_blocks_are_forgotten_and_rows_of_the_outbox_are_a_start_again() -> None:
    start = BoardStart(boot=1, repeat=0)
    forgotten: list[int] = []
    for sequence in range(1, 3000):
        forgotten += start.accept(sequence, digest(sequence))[1]
    assert start.block_count <= BLOCKS_PER_START_MAX
    assert forgotten == list(range(len(forgotten)))
    again = BoardStart(boot=1, repeat=0)
    for block in start.blocks():
        again.load(block, start.digests_of(block))
    assert again.latest == 2999
    assert again.holds(2999, digest(2999))
    assert again.has_contents(digest(2998))
