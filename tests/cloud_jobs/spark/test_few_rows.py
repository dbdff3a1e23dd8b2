"""Small tables whose rows are literal values in a query."""

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from cloud_jobs.spark import few_rows
from cloud_jobs.spark.effort import small_effort
from cloud_jobs.spark.few_rows import as_values, held

ROWS = [("gw-1", 1), ("gw-2", None), (None, 3)]


def test_few_rows_are_values_of_the_same_columns_and_more_stay_a_plan(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(few_rows, "VALUES_MAX", len(ROWS))
    rows = spark.createDataFrame(ROWS, "gateway string, sequence long")
    values = as_values(rows)
    assert values is not rows
    assert (values.schema, values.collect()) == (rows.schema, rows.collect())
    more = rows.unionByName(rows)
    assert as_values(more) is more


def test_few_rows_with_many_bytes_stay_a_plan(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(few_rows, "VALUES_BYTES_MAX", 10_000)
    long = spark.createDataFrame([("x" * 5_000, 1), ("y" * 5_000, 2)], "topic string, number long")
    assert as_values(long) is long
    assert as_values(long.limit(1)).collect() == long.limit(1).collect()


def test_no_rows_have_their_columns(spark: SparkSession) -> None:
    nothing = spark.createDataFrame([], "gateway string, day date")
    values = as_values(nothing)
    assert (values.schema, values.collect()) == (nothing.schema, [])


@pytest.mark.parametrize("is_small", [False, True])
@pytest.mark.parametrize("values_max", [len(ROWS), len(ROWS) - 1])
def test_held_rows_are_computed_once(
    values_max: int, is_small: bool, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(few_rows, "VALUES_MAX", values_max)
    rows = spark.createDataFrame(ROWS, "gateway string, sequence long")
    drawn = rows.withColumn("drawn", F.rand())
    with small_effort(spark, is_small=is_small), held(drawn) as kept:
        assert sorted(kept.select("drawn").collect()) == sorted(kept.select("drawn").collect())
        is_cached = kept.storageLevel.useMemory
    # The cache is used only for rows that are too many for the driver, and is given back.
    assert is_cached is (values_max < len(ROWS))
    assert not drawn.storageLevel.useMemory
