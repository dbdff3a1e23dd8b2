"""The version of a set of tables."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.schemas import GATEWAY_KEYS
from cloud_jobs.tables.versions import version_of, write_version


def test_a_version_is_read_back_and_a_new_table_has_none(
    spark: SparkSession, tmp_path: Path
) -> None:
    tables = Tables(spark, str(tmp_path), {"gateway_keys": GATEWAY_KEYS})
    rows = spark.createDataFrame([], GATEWAY_KEYS)
    rows.write.format("delta").save(tables.path("gateway_keys"))
    assert version_of(tables, "gateway_keys") is None
    write_version(tables, "gateway_keys", 3)
    assert version_of(tables, "gateway_keys") == 3
