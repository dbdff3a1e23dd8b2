"""Readings by quarter of an hour and by day."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, Row, SparkSession

from cloud_jobs.gold.sensors import (
    RESET_SHARE,
    days_of,
    days_touched,
    last_readings,
    on_moved_days,
    quarters_of,
)
from cloud_jobs.tables.gold_schemas import SENSOR_DAYS
from tests.cloud_jobs.conftest import Place

MIDNIGHT = datetime(2026, 1, 2, tzinfo=UTC)
DAY = date(2026, 1, 2)
PLACED = (
    "gateway string, device string, name string, unit string, batch long, sequence long, "
    "position long, device_boot long, device_sequence long, number double, text string, "
    "is_sum boolean, is_repeat boolean, time timestamp, begin timestamp, day date, "
    "time_quality string"
)


def reading(number: float | None, minute: float = 0, **values: Any) -> dict[str, Any]:
    time = MIDNIGHT + timedelta(minutes=minute)
    quarter = MIDNIGHT + timedelta(minutes=minute // 15 * 15)
    own = {"gateway": "g", "device": "d", "name": "d/e", "unit": None, "batch": 1,
           "sequence": int(minute * 60), "position": 0, "device_boot": None,
           "device_sequence": None, "number": number, "text": None, "is_sum": False,
           "is_repeat": False, "time": time, "begin": quarter, "day": time.date(),
           "time_quality": "synchronised"}  # fmt: skip
    return own | values


def rows_of(spark: SparkSession, readings: list[dict[str, Any]]) -> DataFrame:
    return spark.createDataFrame([tuple(one.values()) for one in readings], PLACED)


def days_before(spark: SparkSession, **values: Any) -> DataFrame:
    row = dict.fromkeys(SENSOR_DAYS.fieldNames()) | values
    return spark.createDataFrame([tuple(row.values())], SENSOR_DAYS)


def quarters(
    spark: SparkSession, *readings: dict[str, Any], before: DataFrame | None = None
) -> list[Row]:
    known = last_readings(before if before is not None else spark.createDataFrame([], SENSOR_DAYS))
    found = quarters_of(rows_of(spark, list(readings)), known)
    return found.orderBy("device", "name", "begin").collect()


def test_a_quarter_has_the_curve_of_its_readings_and_a_day_that_of_its_quarters(
    spark: SparkSession,
) -> None:
    readings = [reading(2.0, 1, unit="Cel"), reading(6.0, 2), reading(1.0, 14, batch=3),
                reading(9.0, 15, time_quality="corrected")]  # fmt: skip
    one, other = quarters(spark, *readings)
    assert (one["readings"], one["first"], one["last"]) == (3, 2.0, 1.0)
    assert (one["minimum"], one["mean"], one["maximum"]) == (1.0, 3.0, 6.0)
    assert (one["increase"], one["resets"]) == (None, None), "a temperature is no counter"
    assert (one["batch"], other["time_quality"]) == (3, "corrected")
    nothing = last_readings(spark.createDataFrame([], SENSOR_DAYS))
    (day,) = days_of(quarters_of(rows_of(spark, readings), nothing)).collect()
    assert (day["day"], day["readings"], day["mean"]) == (DAY, 4, 4.5)
    assert (day["first"], day["last"], day["minimum"], day["maximum"]) == (2.0, 9.0, 1.0, 9.0)
    assert (day["time_quality"], day["batch"]) == ("corrected", 3)


def test_a_counter_goes_on_from_the_day_before_and_over_resets(spark: SparkSession) -> None:
    last = MIDNIGHT - timedelta(days=3)
    before = days_before(spark, gateway="g", device="d", name="d/e", last=100.0, increase=5.0,
                         last_time=last, day=last.date(), unit="kWh")  # fmt: skip
    dip = 130.0 * RESET_SHARE + 1
    one, other = quarters(
        spark, reading(110.0, 1, unit="kWh"), reading(130.0, 2, unit="kWh"),
        reading(dip, 3, unit="kWh"), reading(2.0, 16, unit="kWh"), reading(5.0, 17, unit="kWh"),
        before=before,
    )  # fmt: skip
    assert (one["increase"], one["resets"]) == (30.0, 0), "a small dip is rounding"
    assert (other["increase"], other["resets"]) == (5.0, 1), "it began again from 0"


def test_missing_numbers_count_once_for_each_quantity_of_the_frame_behind_the_hole(
    spark: SparkSession,
) -> None:
    numbers = {"device_boot": 1, "is_sum": False}
    last = MIDNIGHT - timedelta(minutes=1)
    before = days_before(spark, gateway="g", device="d", name="d/e", device_boot=1,
                         device_sequence=10, last_time=last, day=last.date())  # fmt: skip
    found = quarters(
        spark,
        reading(1.0, 0, device_sequence=13, **numbers),
        reading(1.0, 0, device_sequence=13, name="d/other", **numbers),
        reading(1.0, 1, device_sequence=14, **numbers),
        reading(1.0, 1, device_sequence=14, position=1, **numbers),
        reading(1.0, 20, device_sequence=16, is_repeat=True, **numbers),
        reading(1.0, 2, device_sequence=1, device_boot=2),
        reading(1.0, 3, device=None, name="plain"),
        before=before,
    )
    shown = {(row["name"], row["begin"].minute): row["missing"] for row in found}
    assert shown == {("d/e", 0): 2, ("d/e", 15): 1, ("d/other", 0): 2, ("plain", 0): 0}
    assert [row["repeats"] for row in found if row["begin"].minute == 15] == [1]


def test_a_text_has_its_last_one_and_no_curve(spark: SparkSession) -> None:
    open_, closed = reading(None, 1, text="open"), reading(None, 2, text="closed")
    (row,) = quarters(spark, closed, open_)
    assert (row["last_text"], row["readings"], row["last"], row["mean"]) == (
        "closed",
        2,
        None,
        None,
    )


def test_the_day_after_a_late_reading_is_made_again(spark: SparkSession) -> None:
    schema = "gateway string, device string, name string, day date"
    known = spark.createDataFrame(
        [("g", None, "x", date(2026, 1, day)) for day in (1, 4, 7)]
        + [("g", None, "y", date(2026, 1, 3))], schema
    )  # fmt: skip
    new = spark.createDataFrame([("g", None, "x", DAY)], schema)
    found = {row["day"] for row in days_touched(new, known).collect()}
    assert found == {DAY, date(2026, 1, 4)}


def test_the_day_after_one_to_which_readings_have_moved_is_made_again(spark: SparkSession) -> None:
    schema = "gateway string, device string, name string, day date"
    known = spark.createDataFrame(
        [("g", "d", "x", date(2026, 1, 1)), ("g", "d", "x", date(2026, 1, 3)),
         ("other", "d", "x", date(2026, 1, 3))], schema
    )  # fmt: skip
    moved = spark.createDataFrame([("g", DAY)], "gateway string, day date")
    found = days_touched(on_moved_days(known, moved), known).collect()
    assert {tuple(row) for row in found} == {("g", DAY), ("g", date(2026, 1, 3))}


@pytest.mark.parametrize("table", ["sensor_quarters", "sensor_days"])
def test_the_tables_have_each_reading_once_however_it_landed(golden: Place, table: str) -> None:
    rows, readings = golden.rows(table), golden.rows("sensor_readings")
    assert sum(row["readings"] for row in rows) == len(readings)
    key = ["gateway", "device", "name", "begin" if table == "sensor_quarters" else "day"]
    assert len({tuple(row[name] for name in key) for row in rows}) == len(rows)
    assert all(row["minimum"] <= row["mean"] <= row["maximum"] for row in rows if row["mean"])
