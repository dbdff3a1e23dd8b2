"""An outline survives the conversion to text and back. It is small, or there is none."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from cloud_jobs.ingest.outline import (
    EMPTY,
    FrameRange,
    Outline,
    SingleEvent,
    outline_in,
    ranges_of,
    text_of,
)
from cloud_jobs.limits import OUTLINE_CHARACTERS_MAX, OUTLINE_RANGES_MAX


@given(st.sets(st.integers(-50, 50)))
def test_runs_have_each_number_once_and_do_not_touch(numbers: set[int]) -> None:
    runs = ranges_of(numbers)
    assert [n for least, greatest in runs for n in range(least, greatest + 1)] == sorted(numbers)
    assert all(after[0] > before[1] + 1 for before, after in pairwise(runs))


def test_an_outline_comes_back_from_its_text() -> None:
    half = SingleEvent(True, 7, 8, 9, "t", "[]", None, "ü")
    outline = Outline(1, 2, 3, ((4, 5),), (FrameRange("d", 1, 2, 3),), (half,))
    for one in (outline, EMPTY):
        assert outline_in(text_of(one)) == one
    assert outline_in(None) is None


def test_what_is_too_large_for_the_driver_has_no_text() -> None:
    runs = tuple((2 * n, 2 * n) for n in range(OUTLINE_RANGES_MAX + 1))
    assert text_of(Outline(messages=runs)) is None
    assert text_of(Outline(messages=runs[:-1])) is not None
    payload = "x" * OUTLINE_CHARACTERS_MAX
    assert (
        text_of(Outline(single_events=(SingleEvent(True, 1, 1, 1, "t", payload, None, None),)))
        is None
    )
