"""Tables are the same whether they were made with Spark or without."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from cloud_jobs.errors import IngestError
from cloud_jobs.tables import adding, making
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.making import columns_of
from cloud_jobs.tables.schemas import TABLES
from cloud_jobs.tables.versions import version_of

READINGS = "sensor_readings"


def some(spark: SparkSession, root: Path) -> Tables:
    names = ("segments", READINGS)
    return Tables(spark, str(root), {name: TABLES[name] for name in names})


def test_spark_and_the_library_make_the_same_tables(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = some(spark, tmp_path / "here")
    here.create()
    with monkeypatch.context() as patch:
        for module in (adding, making):
            patch.setattr(module, "local_folder", lambda _: None)
        other = some(spark, tmp_path / "other")
        assert columns_of(other, "segments") is None
        other.create()
        assert columns_of(other, "segments") == TABLES["segments"]
        assert version_of(other, "segments") == 1
    for name in here.schemas:
        one, two = (DeltaTable(tables.path(name)) for tables in (here, other))
        assert one.metadata().partition_columns == two.metadata().partition_columns
        assert one.protocol().min_writer_version == two.protocol().min_writer_version
        assert columns_of(here, name) == columns_of(other, name) == TABLES[name]
        assert here.read(name).schema == other.read(name).schema
    assert version_of(here, "segments") == 1
    here.create()
    assert DeltaTable(here.path("segments")).version() == 0


def test_tables_with_other_columns_are_not_touched(spark: SparkSession, tmp_path: Path) -> None:
    spark.range(1).write.format("delta").save(str(tmp_path / READINGS))
    with pytest.raises(IngestError, match="another version of this job"):
        some(spark, tmp_path).create()
