"""Daily rows that replace earlier rows of the same days."""

from __future__ import annotations

from datetime import date
from pathlib import Path

from pyspark.sql import SparkSession

from cloud_jobs.gold.daily import put_days
from cloud_jobs.tables import making
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.gold_schemas import QOS2_DAILY
from tests.cloud_jobs.conftest import Place

DAYS = "gateway string, day date"


def day(number: int) -> date:
    return date(2026, 1, number)


def test_rows_of_other_gateways_and_days_stay_and_a_day_of_which_nothing_is_left_goes(
    spark: SparkSession, tmp_path: Path
) -> None:
    made = Tables(spark, str(tmp_path), {"qos2_daily": QOS2_DAILY}, marker="qos2_daily")
    names = QOS2_DAILY.fieldNames()

    def put(
        touched: set[tuple[str, date]], *rows: tuple[str, date, int]
    ) -> set[tuple[str, date, int]]:
        days = spark.createDataFrame(sorted(touched), DAYS)
        new = spark.createDataFrame([*rows], f"{DAYS}, messages long")
        missing = {name: "CAST(NULL AS BIGINT)" for name in names if name not in new.columns}
        new = new.selectExpr("*", *(f"{value} AS {name}" for name, value in missing.items()))
        put_days(made, "qos2_daily", days, new)
        found = made.read("qos2_daily").collect()
        return {(row["gateway"], row["day"], row["messages"]) for row in found}

    making.create(made)
    first = {("a", day(1), 1), ("a", day(2), 2), ("b", day(1), 3)}
    assert put({(gateway, on) for gateway, on, _ in first}, *first) == first
    assert put(set()) == first
    moved = put({("a", day(1)), ("a", day(3))}, ("a", day(3), 4))
    assert moved == {("a", day(2), 2), ("b", day(1), 3), ("a", day(3), 4)}


def test_offline_days_without_an_event_are_rows_and_their_sum_is_that_of_the_starts(
    golden: Place,
) -> None:
    health = golden.rows("gateway_health")
    silent = [row for row in health if row["events"] == 0]
    assert all(row["offline_seconds"] > 0 and row["sessions_opened"] == 0 for row in silent)
    assert len({(row["gateway"], row["day"]) for row in health}) == len(health)
