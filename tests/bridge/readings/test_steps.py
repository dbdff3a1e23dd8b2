"""Lowest, mean and highest value in each step of 5 seconds."""

import math

from firmware_bridge.readings.steps import Steps
from hypothesis import given
from hypothesis import strategies as st


def test_a_fast_quantity_has_its_true_extremes_for_each_step() -> None:
    steps = Steps()
    for tenth in range(120):
        steps.add(1000 + tenth / 10, float(tenth % 7))
    steps.add(1012.0, 99.0)
    assert steps.whole(1012.5) == [
        {"start_ms": 1_000_000, "count": 50, "low": 0.0, "mean": 2.94, "high": 6.0, "last": 0.0},
        {"start_ms": 1_005_000, "count": 50, "low": 0.0, "mean": 2.96, "high": 6.0, "last": 1.0},
    ]
    (_, latest) = steps.whole(1015.0)
    assert (latest["start_ms"], latest["count"], latest["high"]) == (1_010_000, 21, 99.0)


def test_a_slow_quantity_has_none() -> None:
    steps = Steps()
    for seconds in (1000.0, 1030.0, 1060.0):
        steps.add(seconds, 1.0)
        assert steps.whole(seconds + 6) == []
    assert steps.latest_mean(1066.0) == 1.0
    assert steps.latest_mean(1090.0) is None


def test_a_quantity_that_falls_silent_has_none_any_more() -> None:
    steps = Steps()
    for seconds in range(1000, 1020):
        steps.add(float(seconds), 1.0)
    assert len(steps.whole(1021.0)) == 2
    assert steps.whole(1100.0) == []


@given(st.lists(st.tuples(st.floats(0, 1e9), st.floats(allow_nan=True)), max_size=30))
def test_steps_are_finite_and_bounded_whatever_arrives_and_when(
    values: list[tuple[float, float]],
) -> None:
    steps = Steps()
    for seconds, value in values:
        steps.add(seconds, value)
        whole = steps.whole(seconds)
        assert len(whole) <= 2
        assert all(math.isfinite(number) for step in whole for number in step.values())
        assert all(step["low"] <= step["mean"] <= step["high"] for step in whole)
