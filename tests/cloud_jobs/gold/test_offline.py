"""Seconds offline per day, from the gateway's starts alone."""

from __future__ import annotations

from datetime import UTC, datetime

from pyspark.sql import SparkSession

from cloud_jobs.gold.offline import offline_days
from cloud_jobs.limits import OFFLINE_DAYS_MAX

COLUMNS = "gateway string, first_sequence long, first_time timestamp, last_time timestamp"


def at(day: int, hour: int = 0, year: int = 2026) -> datetime:
    return datetime(year, 1, day, hour, tzinfo=UTC)


def seconds(spark: SparkSession, *starts: tuple[str, int, datetime, datetime]) -> dict[str, float]:
    rows = offline_days(spark.createDataFrame(list(starts), COLUMNS)).collect()
    return {f"{row['gateway']} {row['day']:%d}": row["offline_seconds"] for row in rows}


def test_an_interval_is_divided_at_midnights_and_a_start_within_it_cuts_it(
    spark: SparkSession,
) -> None:
    one, other = ("a", 1, at(1), at(1, 18)), ("a", 9, at(3, 6), at(4))
    other_gateway = ("b", 1, at(2), at(2, 1))
    hour = 3_600
    assert seconds(spark, one, other, other_gateway) == {
        "a 01": 6 * hour,
        "a 02": 24 * hour,
        "a 03": 6 * hour,
    }
    between = ("a", 5, at(2, 6), at(2, 12))
    assert seconds(spark, one, other, between)["a 02"] == 18 * hour


def test_a_clock_that_goes_back_or_leaps_years_counts_as_no_time_offline(
    spark: SparkSession,
) -> None:
    first = ("a", 1, at(1), at(5))
    years = OFFLINE_DAYS_MAX // 365 + 1
    assert seconds(spark, first, ("a", 2, at(2), at(3))) == {}
    assert seconds(spark, first, ("a", 2, at(2, year=2026 + years), at(3, year=2026 + years))) == {}
