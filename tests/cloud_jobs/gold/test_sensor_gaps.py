"""Gaps in the sequence numbers of sensors."""

from __future__ import annotations

from datetime import date

from pyspark.sql import SparkSession

from cloud_jobs.gold.sensor_gaps import sensor_gaps_of

COLUMNS = "gateway string, device string, device_boot long, device_sequence long, day date"
DAY = date(2026, 1, 2)


def gaps(spark: SparkSession, *numbers: tuple[str | None, int | None, int | None]) -> list[str]:
    rows = [("g", *number, DAY) for number in numbers]
    found = sensor_gaps_of(spark.createDataFrame(rows, COLUMNS)).collect()
    assert {(row["kind"], row["segment"], row["day"]) for row in found} <= {("sensor", None, DAY)}
    return sorted(
        f"{row['device']}/{row['device_boot']} {row['from_sequence']}-{row['to_sequence']}"
        f" {row['missing']}"
        for row in found
    )


def test_a_hole_is_between_two_numbers_of_one_start_of_one_sensor(spark: SparkSession) -> None:
    found = gaps(spark, ("a", 1, 7), ("a", 1, 4), ("a", 1, 3), ("a", 2, 1), ("b", 1, 9))
    assert found == ["a/1 5-6 2"]


def test_many_records_of_a_frame_and_readings_without_numbers_are_no_holes(
    spark: SparkSession,
) -> None:
    numbers = [("a", 1, 1), ("a", 1, 1), ("a", 1, 2), (None, 1, 9), ("a", None, 9), ("a", 1, None)]
    assert gaps(spark, *numbers) == []
