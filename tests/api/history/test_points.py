"""The points of a series, in order of time."""

from hypothesis import given
from hypothesis import strategies as st

from api.history.points import Point, Summary, Track


def flat(step: int, value: float = 1.0) -> Point:
    return Point(step, value, value, value, value)


def test_a_summary_has_lowest_mean_highest_and_last_value() -> None:
    summary = Summary(7)
    for value in (2.0, 8.0, 5.0):
        summary.add(1, value, value, value, value)
    summary.add(3, 1.0, 3.0, 9.0, 4.0)
    assert summary.point() == Point(7, 1.0, 4.0, 9.0, 4.0)


@given(st.lists(st.floats(-1e12, 1e12), min_size=1, max_size=50))
def test_a_mean_is_never_outside_of_the_readings(values: list[float]) -> None:
    summary = Summary(0)
    for value in values:
        summary.add(1, value, value, value, value)
    point = summary.point()
    assert point.low <= point.mean <= point.high


@given(st.lists(st.integers(0, 30)))
def test_steps_rise_whatever_order_they_come_in(steps: list[int]) -> None:
    track = Track()
    for step in steps:
        track.put(flat(step))
    found = [point.step for point in track.between(0, 30)]
    assert found == sorted(set(found))
    assert track.latest() == (steps[-1] if steps else None)


def test_points_are_forgotten_at_both_ends() -> None:
    track = Track()
    for step in range(10):
        track.put(flat(step))
    track.forget_before(3)
    track.forget_from(7)
    assert [point.step for point in track.between(0, 99)] == [3, 4, 5, 6]
    assert [point.step for point in track.between(4, 5)] == [4, 5]
