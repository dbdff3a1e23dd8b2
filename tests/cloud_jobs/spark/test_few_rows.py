"""Small tables whose rows are literal values in a query."""

import pytest
from pyspark.sql import SparkSession

from cloud_jobs.spark import few_rows
from cloud_jobs.spark.few_rows import as_values

ROWS = [("gw-1", 1), ("gw-2", None), (None, 3)]


def test_few_rows_are_values_of_the_same_columns_and_more_stay_a_plan(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(few_rows, "VALUES_MAX", len(ROWS))
    rows = spark.createDataFrame(ROWS, "gateway string, sequence long")
    held = as_values(rows)
    assert held is not rows
    assert (held.schema, held.collect()) == (rows.schema, rows.collect())
    more = rows.unionByName(rows)
    assert as_values(more) is more


def test_no_rows_have_their_columns(spark: SparkSession) -> None:
    nothing = spark.createDataFrame([], "gateway string, day date")
    held = as_values(nothing)
    assert (held.schema, held.collect()) == (nothing.schema, [])
