"""Tables are made once, and those with other columns are left alone."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from cloud_jobs.errors import IngestError
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.making import columns_of
from cloud_jobs.tables.schemas import PARTITIONS, TABLES
from cloud_jobs.tables.versions import version_of

READINGS = "sensor_readings"


def some(spark: SparkSession, root: Path) -> Tables:
    names = ("segments", READINGS)
    return Tables(spark, str(root), {name: TABLES[name] for name in names})


def test_tables_are_made_for_readers_of_version_1_and_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    tables = some(spark, tmp_path)
    assert columns_of(tables, "segments") is None
    for _ in range(2):
        tables.create()
    for name in tables.schemas:
        found = DeltaTable(tables.path(name))
        assert found.version() == 0
        assert found.protocol().min_reader_version == 1
        assert found.metadata().partition_columns == [*PARTITIONS.get(name, ())]
        assert columns_of(tables, name) == TABLES[name]
    assert version_of(tables, "segments") == 1


def test_tables_with_other_columns_are_not_touched(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(1).write.format("delta").save(str(tmp_path / READINGS))
    with pytest.raises(IngestError, match="another version of this job"):
        some(spark, tmp_path).create()
