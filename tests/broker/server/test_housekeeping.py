"""Ranges of events that the session log lacks after files were deleted to free space."""

from gateway.broker.disk_budget.budget import Item, Kind
from gateway.broker.server.housekeeping import ranges_of


def segment(first: int, last: int) -> Item:
    return Item(Kind.SEGMENT, f"segment {first}", 1, first, first, last)


def test_segments_that_follow_each_other_are_one_range() -> None:
    segments = [segment(1, 4), segment(5, 9), segment(20, 29), segment(30, 31)]
    assert ranges_of(segments) == [(1, 9), (20, 31)]


def test_a_segment_that_stands_twice_is_one_range() -> None:
    assert ranges_of([segment(1, 4), segment(1, 4)]) == [(1, 4)]


def test_nothing_removed_is_no_range() -> None:
    assert ranges_of([]) == []
