"""Readings at the times at which they were measured, as far as the tables have these times."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

from pyspark.sql import Row, SparkSession

from cloud_jobs.gold.readings import with_corrected_times
from cloud_jobs.limits import SENSOR_CLOCK_DAYS_MAX, TEXT_CHARACTERS_MAX
from cloud_jobs.tables.gold_schemas import CLOCK_CORRECTIONS
from cloud_jobs.tables.schemas import READINGS

AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
BEGIN = datetime(1970, 1, 1, 0, 1, tzinfo=UTC)


def reading(**values: Any) -> dict[str, Any]:
    own = {"gateway": "g", "boot": "b", "sequence": 1, "position": 0, "device": "d", "name": "d/t",
           "time": AT, "delivered_at": AT, "clock": "synchronised", "batch": 1}  # fmt: skip
    return dict.fromkeys(READINGS.fieldNames()) | own | values


def places(
    spark: SparkSession, *readings: dict[str, Any], offset: timedelta | None = None
) -> list[Row]:
    correction = dict.fromkeys(CLOCK_CORRECTIONS.fieldNames()) | {
        "gateway": "g", "boot": "b", "from_sequence": 5, "to_sequence": 9,
        "offset_ms": None if offset is None else int(offset.total_seconds() * 1000),
    }  # fmt: skip
    rows = spark.createDataFrame([tuple(one.values()) for one in readings], READINGS)
    known = spark.createDataFrame([tuple(correction.values())], CLOCK_CORRECTIONS)
    return with_corrected_times(rows, known).orderBy("sequence").collect()


def test_a_time_by_a_wrong_clock_is_corrected_and_a_sensors_own_is_kept(
    spark: SparkSession,
) -> None:
    wrong = {"clock": "unsynchronised", "delivered_at": BEGIN}
    by_gateway = reading(sequence=5, time=BEGIN - timedelta(seconds=1), **wrong)
    by_sensor = reading(sequence=6, time=AT - timedelta(seconds=2), **wrong)
    elsewhere = reading(sequence=10, time=BEGIN, **wrong)
    found = places(spark, by_gateway, by_sensor, elsewhere, reading(), offset=AT - BEGIN)
    synchronised, corrected, own, unknown = found
    assert (synchronised["time"], synchronised["time_quality"]) == (naive(AT), "synchronised")
    assert corrected["time"] == naive(AT) - timedelta(seconds=1)
    assert (corrected["time_quality"], corrected["day"]) == ("corrected", date(2026, 1, 2))
    assert own["time"] == naive(AT) - timedelta(seconds=2)
    assert (unknown["time"], unknown["time_quality"]) == (naive(BEGIN), "unknown")
    assert unknown["day"] == date(2020, 1, 1), "no gateway is older"


def test_a_sensors_clock_that_is_years_off_is_not_the_time_of_its_reading(
    spark: SparkSession,
) -> None:
    off = timedelta(days=SENSOR_CLOCK_DAYS_MAX + 1)
    late = reading(sequence=3, time=AT - timedelta(days=SENSOR_CLOCK_DAYS_MAX))
    found = places(
        spark, reading(time=AT - off), reading(sequence=2, time=AT + off), late, offset=None
    )
    assert [row["time"] for row in found[:2]] == [naive(AT), naive(AT)]
    assert found[2]["time"] == naive(AT) - timedelta(days=SENSOR_CLOCK_DAYS_MAX)
    assert found[0]["begin"] == naive(AT).replace(minute=0, second=0)


def test_numbers_sums_and_booleans_are_numbers_and_texts_are_cut(spark: SparkSession) -> None:
    found = places(
        spark,
        reading(sequence=1, value=1.5),
        reading(sequence=2, sum=7.0),
        reading(sequence=3, boolean_value=True),
        reading(sequence=4, string_value="x" * (TEXT_CHARACTERS_MAX + 1)),
    )
    assert [row["number"] for row in found] == [1.5, 7.0, 1.0, None]
    assert [row["is_sum"] for row in found] == [False, True, False, False]
    assert found[3]["text"] == "x" * TEXT_CHARACTERS_MAX


def naive(time: datetime) -> datetime:
    """Return a time as `collect` returns it: local, in whatever zone the tests run."""
    return datetime.fromtimestamp(time.timestamp())  # noqa: DTZ006
