"""Which frames were accepted: exact within what boards may do, bounded beyond it."""

from firmware_bridge.accepted_sequences import RANGES_MAX, AcceptedSequences
from firmware_bridge.boards import BOOTS_PER_DEVICE_MAX, DEVICES_MAX, Boards
from firmware_bridge.framings.frames import BoardIdentity
from hypothesis import given
from hypothesis import strategies as st


@given(st.lists(st.integers(1, 100)))
def test_a_frame_is_new_exactly_when_a_set_says_so(sequences: list[int]) -> None:
    accepted, known = AcceptedSequences(), set[int]()
    for sequence in sequences:
        assert accepted.accept(sequence) == (sequence not in known)
        known.add(sequence)
        accepted = AcceptedSequences(str(accepted))
    assert all(accepted.holds(sequence) == (sequence in known) for sequence in range(1, 101))


def test_a_long_run_takes_no_more_space_than_a_short_one() -> None:
    accepted = AcceptedSequences()
    for sequence in range(1, 10_001):
        accepted.accept(sequence)
    assert str(accepted) == "1-10000"


def test_frames_that_a_board_gave_up_do_not_fill_the_memory() -> None:
    accepted = AcceptedSequences()
    for sequence in range(1, 20 * RANGES_MAX, 2):
        assert accepted.accept(sequence)
    assert len(str(accepted).split(",")) == RANGES_MAX
    assert accepted.accept(20 * RANGES_MAX - 32), "a gap that can still be filled stays open"


def test_a_late_first_contact_leaves_the_earlier_frames_acceptable() -> None:
    boards = Boards()
    assert boards.accept(BoardIdentity(1, 1, 5000))
    assert boards.accept(BoardIdentity(1, 1, 4999))
    assert not boards.accept(BoardIdentity(1, 1, 5000))


def test_the_same_sequence_of_another_start_or_board_is_another_frame() -> None:
    boards = Boards()
    for device, boot in [(1, 1), (1, 2), (2, 1)]:
        assert boards.accept(BoardIdentity(device, boot, 1))
    changed, removed = boards.take_changes()
    assert sorted(changed) == [(1, 1, "1-1"), (1, 2, "1-1"), (2, 1, "1-1")]
    assert not removed
    assert boards.take_changes() == ([], [])


def test_only_the_latest_starts_of_a_board_are_kept() -> None:
    boards = Boards()
    for boot in range(1, BOOTS_PER_DEVICE_MAX + 2):
        assert boards.accept(BoardIdentity(1, boot, 1))
    changed, removed = boards.take_changes()
    assert removed == [(1, 1)]
    assert len(changed) == BOOTS_PER_DEVICE_MAX


def test_there_is_room_for_so_many_boards_and_no_more() -> None:
    boards = Boards((device, 1, "1-1") for device in range(DEVICES_MAX))
    assert boards.knows_room_for(0)
    assert not boards.knows_room_for(DEVICES_MAX)
