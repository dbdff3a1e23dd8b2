"""The queries in docs/formats/tables.md run as they are written, and read only what they need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from cloud_jobs.tables.gold_schemas import CLOCK_CORRECTIONS, GAPS
from cloud_jobs.tables.schemas import READINGS

PAGE = Path(__file__).parents[3] / "docs" / "formats" / "tables.md"
LAST_VALUE, DAY_OF_A_DEVICE, ALL_GAPS, CORRECTED = re.findall(
    r"```sql\n(.*?)```", PAGE.read_text(), re.DOTALL
)
SKIPPING = "spark.databricks.delta.stats.skipping"
"""Delta skips files by their statistics: off in the small tests of this room, on in the job."""
FIRST = date(2025, 12, 31)


@pytest.fixture(scope="module")
def views(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """Readings of 2025-12-31 to 2026-01-02: two per day and sensor, one file per day."""
    root = tmp_path_factory.mktemp("queries")
    values = {"gateway": "gw-1", "name": "t", "unit": "Cel", "boot": "b", "clock": "unknown"}
    rows = [
        values | {"device": device, "device_boot": 1, "device_sequence": number, "sequence": number,
                  "value": float(number), "day": FIRST + timedelta(days=number // 2)}
        for device in ("board-0000002a", "other") for number in range(6)
    ]  # fmt: skip
    named = [tuple(row.get(name) for name in READINGS.fieldNames()) for row in rows]
    readings = spark.createDataFrame(named, READINGS).coalesce(1)
    for name, frame in (
        ("sensor_readings", readings),
        ("gaps", spark.createDataFrame([], GAPS)),
        ("clock_corrections", spark.createDataFrame([], CLOCK_CORRECTIONS)),
    ):
        writer = frame.write.format("delta")
        if name == "sensor_readings":
            writer = writer.partitionBy("day")
        writer.save(str(root / name))
        spark.read.format("delta").load(str(root / name)).createOrReplaceTempView(name)
    spark.conf.set(SKIPPING, "true")
    yield spark
    spark.conf.set(SKIPPING, "false")


def days_read(found: DataFrame) -> set[str]:
    """Return the partitions of the files that a query reads."""
    return {match[1] for name in found.inputFiles() if (match := re.search("day=([0-9-]+)", name))}


def test_the_last_value_of_each_sensor_is_the_one_it_numbered_last(views: SparkSession) -> None:
    found = views.sql(LAST_VALUE)
    rows = {row["device"]: row["value"] for row in found.collect()}
    assert rows == {"board-0000002a": 5.0, "other": 5.0}
    assert days_read(found) == {"2026-01-01", "2026-01-02"}


def test_a_day_of_a_device_reads_that_day(views: SparkSession) -> None:
    found = views.sql(DAY_OF_A_DEVICE)
    assert [row["value"] for row in found.collect()] == [4.0, 5.0]
    assert days_read(found) == {"2026-01-02"}


def test_all_gaps_are_one_small_table_and_no_join(views: SparkSession) -> None:
    found = views.sql(ALL_GAPS)
    assert found.collect() == []
    assert "Join" not in found._jdf.queryExecution().executedPlan().toString()


def test_corrected_times_are_asked_for_a_day(views: SparkSession) -> None:
    found = views.sql(CORRECTED)
    assert {row["time_quality"] for row in found.collect()} == {"unknown"}
    assert days_read(found) == {"2026-01-02"}
