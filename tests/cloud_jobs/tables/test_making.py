"""Tables are created once, and tables with other columns are not changed."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from cloud_jobs.errors import IngestError
from cloud_jobs.tables import making
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.schemas import GATEWAY_KEYS, PARTITIONS, SEGMENTS, TABLES
from cloud_jobs.tables.versions import version_of, write_version

READINGS = "sensor_readings"


def some(spark: SparkSession, root: Path) -> Tables:
    names = ("segments", READINGS)
    return Tables(spark, str(root), {name: TABLES[name] for name in names})


def test_tables_are_made_for_readers_of_version_1_and_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    tables = some(spark, tmp_path)
    assert tables.columns("segments") is None
    for _ in range(2):
        making.create(tables)
    for name in tables.schemas:
        found = DeltaTable(tables.path(name))
        assert found.version() == 0
        assert found.protocol().min_reader_version == 1
        assert found.metadata().configuration["delta.checkpointInterval"] == "30"
        assert found.metadata().partition_columns == [*PARTITIONS.get(name, ())]
        assert tables.columns(name) == TABLES[name]
    assert version_of(tables, "segments") == 1


def test_a_run_that_died_before_the_first_commit_of_a_table_leaves_no_dead_folder(
    spark: SparkSession, tmp_path: Path
) -> None:
    tables = some(spark, tmp_path)
    for name in tables.schemas:
        (tmp_path / name / "_delta_log").mkdir(parents=True)
    for _ in range(2):
        making.create(tables)
    for name in tables.schemas:
        found = DeltaTable(tables.path(name))
        assert found.metadata().configuration["delta.checkpointInterval"] == "30"
        assert found.metadata().partition_columns == [*PARTITIONS.get(name, ())]
        assert tables.columns(name) == TABLES[name]
    assert version_of(tables, "segments") == 1


def test_tables_with_other_columns_are_not_touched(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(1).write.format("delta").save(str(tmp_path / READINGS))
    with pytest.raises(IngestError, match="another version of this job"):
        making.create(some(spark, tmp_path))


def small(spark: SparkSession, root: Path, version: int) -> Tables:
    """Create two tables of a version. The first lacks columns."""
    tables = Tables(spark, str(root), {"segments": SEGMENTS, "gateway_keys": GATEWAY_KEYS})
    rows = spark.createDataFrame([], SEGMENTS).drop("folder", "public_key")
    rows.write.format("delta").save(tables.path("segments"))
    write_version(tables, "segments", version)
    return tables


def test_tables_of_a_newer_version_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(IngestError, match="of version 9, and this job knows 1"):
        making.create(small(spark, tmp_path, 9))


def test_tables_of_an_earlier_version_are_renewed_or_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    tables = small(spark, tmp_path, 0)
    with pytest.raises(IngestError, match="another version of this job"):
        making.create(tables)
    making.create(tables, making.remake)
    assert tables.columns("segments") == SEGMENTS
    assert version_of(tables, "segments") == 1


def test_a_run_that_died_while_it_renewed_tables_repeats_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    tables = small(spark, tmp_path, 0)
    begun: list[str] = []

    def die_once(found: Tables) -> None:
        begun.append("renew")
        if len(begun) == 1:
            raise KeyboardInterrupt
        making.remake(found)

    with pytest.raises(KeyboardInterrupt):
        making.create(tables, die_once)
    assert version_of(tables, "segments") == 0
    making.create(tables, die_once)
    assert (len(begun), version_of(tables, "segments")) == (2, 1)
