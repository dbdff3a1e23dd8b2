"""Strings are quoted in SQL so that their value does not change."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from cloud_jobs.limits import QUERIES_AT_A_TIME_MAX
from cloud_jobs.spark.side_by_side import side_by_side
from cloud_jobs.tables.merge import Merge, literal, quoted


@pytest.mark.parametrize(
    ("text", "written"),
    [("gw-1", "'gw-1'"), ("it's", r"'it\'s'"), ("a\\' OR '1", r"'a\\\' OR \'1'")],
)
def test_a_literal_ends_where_its_text_ends(text: str, written: str) -> None:
    assert literal(text) == written


def test_a_path_is_one_name() -> None:
    assert quoted("/a`b") == "/a``b"


def _row_of(spark: SparkSession, name: str) -> DataFrame:
    return spark.createDataFrame([(name,)], "key string")


def test_statements_that_run_at_the_same_time_have_rows_of_their_own(
    spark: SparkSession, tmp_path: Path
) -> None:
    names = [f"table-{number}" for number in range(QUERIES_AT_A_TIME_MAX)]
    for name in names:
        empty = spark.createDataFrame([], "key string")
        empty.write.format("delta").save(str(tmp_path / name))
    merges = [
        Merge(str(tmp_path / name), _row_of(spark, name), "old.key = new.key") for name in names
    ]
    with side_by_side() as submit:
        for merge in merges:
            submit(merge.whenNotMatchedInsertAll().execute)
    for name in names:
        rows = spark.read.format("delta").load(str(tmp_path / name)).collect()
        assert [row["key"] for row in rows] == [name]
    assert not [view for view in spark.catalog.listTables() if view.isTemporary]
