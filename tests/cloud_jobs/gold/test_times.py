"""Leaps of the recorded times, which appear where the clock was set."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from cloud_jobs.gold.times import steps_of

COLUMNS = (
    "gateway string, boot string, sequence long, time timestamp, event string, clock string, "
    "step_ms long"
)
Written = tuple[int, str, int | None]
"""Milliseconds, `u` or `s` for the clock, and `step_ms` of a recorded step."""


def steps(spark: SparkSession, *written: Written) -> list[tuple[int, int]]:
    clocks = {"u": "unsynchronised", "s": "synchronised"}
    rows = [
        ("g", "b", n, datetime.fromtimestamp(ms / 1000, UTC),
         "clock_read" if step is None else "clock_stepped", clocks[clock], step)
        for n, (ms, clock, step) in enumerate(written, 1)
    ]  # fmt: skip
    found = steps_of(spark.createDataFrame(rows, COLUMNS)).collect()
    return sorted((row["first"], row["milliseconds"]) for row in found)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ([(10, "u", None), (90_020, "s", 90_000)], [(2, 90_000)]),
        ([(10, "u", None), (90_020, "u", None), (90_900, "s", 90_000)], [(2, 90_000)]),
        # The last run's time was a floor, so 60 of the 90 seconds had already been written.
        ([(60_000, "u", None), (90_020, "s", 90_000)], [(2, 30_020)]),
        ([(90_000, "u", None), (30, "s", -90_000)], [(2, -90_000)]),
        # An hour in which nothing was written is not a step.
        ([(10, "u", None), (3_600_000, "s", None)], []),
        # The floor was ahead of the clock, so there is a leap without a recorded step.
        ([(90_000, "u", None), (500, "s", None)], [(2, -89_500)]),
    ],
    ids=["step", "recorded later", "floor", "back", "idle", "floor without a step"],
)
def test_a_step_is_where_the_times_leap(
    spark: SparkSession, written: list[Written], expected: list[tuple[int, int]]
) -> None:
    assert steps(spark, *written) == expected
