"""Corrections to the times in one boot's segments, from the recorded steps of its clock."""

import pytest

from cloud_jobs.gold.clock_steps import Correction, Segment, Step, corrections_of

BEFORE = Segment("a", 1, 10, "unsynchronised")
AFTER = Segment("b", 11, 20, "synchronised")


def offsets(found: list[Correction]) -> dict[tuple[int, int], int | None]:
    return {(one.first, one.last): one.milliseconds for one in found}


def test_what_was_written_before_the_clock_was_set_is_off_by_its_step() -> None:
    assert offsets(corrections_of([BEFORE, AFTER], [Step(11, 5_000)])) == {(1, 10): 5_000}


def test_events_between_the_step_and_its_segments_end_show_the_new_time() -> None:
    found = corrections_of([BEFORE, AFTER], [Step(8, 5_000)])
    assert offsets(found) == {(1, 7): 5_000, (8, 10): 0}


def test_several_steps_add_up() -> None:
    found = corrections_of([BEFORE, AFTER], [Step(11, 5_000), Step(4, -1_500)])
    assert offsets(found) == {(1, 3): 3_500, (4, 10): 5_000}


def test_a_clock_that_is_lost_again_is_off_by_the_steps_since() -> None:
    lost = Segment("c", 21, 30, "unknown")
    found = corrections_of([BEFORE, AFTER, lost], [Step(11, 7), Step(25, 2_000)])
    assert offsets(found) == {(1, 10): 7, (21, 24): 0, (25, 30): -2_000}


@pytest.mark.parametrize(
    "segments",
    [[BEFORE], [BEFORE, Segment("b", 12, 20, "synchronised")]],
    ids=["never synchronised", "over a gap"],
)
def test_without_a_synchronised_event_next_to_it_a_time_is_not_known(
    segments: list[Segment],
) -> None:
    assert offsets(corrections_of(segments, [Step(11, 5_000)])) == {(1, 10): None}


def test_synchronised_segments_need_no_correction() -> None:
    assert corrections_of([AFTER], [Step(15, 3_000)]) == []
