"""Files that workers wrote are committed once, and Spark reads and skips them as its own."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from cloud_jobs.errors import ConflictError, IngestError, is_conflict
from cloud_jobs.tables import adding
from cloud_jobs.tables.data_files import ADDED, written
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.schemas import READINGS, TABLES
from tests.small_disk import small_disk

NAME = "sensor_readings"
DISK_BYTES = 4 << 20
ARROW = to_arrow_schema(READINGS, timezone="UTC")


def tables_at(spark: SparkSession, root: Path) -> Tables:
    made = Tables(spark, str(root), {NAME: TABLES[NAME]}, marker=NAME)
    made.create()
    spark.sql(
        f"ALTER TABLE delta.`{made.path(NAME)}` "
        "SET TBLPROPERTIES ('delta.checkpointInterval' = '3')"
    )
    return made


@pytest.fixture
def tables(spark: SparkSession, tmp_path: Path) -> Tables:
    return tables_at(spark, tmp_path)


def opened(tables: Tables) -> DeltaTable:
    table = adding.writable(tables.path(NAME))
    assert table is not None
    return table


def made_by_workers(tables: Tables, batch: int) -> DataFrame:
    """Two readings of a batch, which workers write when they are asked for."""
    folder = adding.folder_of(opened(tables))

    def write(_: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = [
            {"gateway": "gw-1", "identity": f"{batch}-{n}", "batch": batch, "value": float("nan"),
             "sequence": 10 * batch + n, "day": date(2026, 11, batch)}
            for n in range(2)
        ]  # fmt: skip
        return written(folder, ARROW, [pa.RecordBatch.from_pylist(rows, ARROW)])

    return tables.spark.range(1, numPartitions=1).mapInArrow(write, ADDED)


def add(tables: Tables, batch: int, where: str = "true") -> None:
    made = made_by_workers(tables, batch).where(where)
    tables.add_files(NAME, opened(tables), made.collect, batch=batch)


def test_what_is_added_twice_is_there_once_and_looks_like_an_append(tables: Tables) -> None:
    for batch in (1, 1, 2, 3, 4, 3, 5):
        add(tables, batch)
    add(tables, 6, where="false")
    # Spark's own append of the same batch is skipped, and that of another one is not.
    others = tables.read(NAME).where("batch = 1")
    for batch in (5, 7):
        tables.append(NAME, others, batch=batch)
    add(tables, 7)
    found = tables.read(NAME)
    assert {row["batch"]: row["count"] for row in found.groupBy("batch").count().collect()} == {
        1: 4, 2: 2, 3: 2, 4: 2, 5: 2,
    }  # fmt: skip
    assert [tables.has_appended(NAME, batch) for batch in (1, 6, 7, 8)] == [True, True, True, False]
    assert list((Path(tables.path(NAME)) / "_delta_log").glob("*.checkpoint.parquet"))


def test_spark_skips_files_by_their_statistics(tables: Tables) -> None:
    for batch in (1, 2, 3):
        add(tables, batch)
    tables.spark.conf.set("spark.databricks.delta.stats.skipping", "true")
    try:
        near = tables.read(NAME).where("gateway = 'gw-1' AND sequence BETWEEN 15 AND 25")
        (file,) = near.inputFiles()
        assert "/day=2026-11-02/" in file
        assert [row.batch for row in near.collect()] == [2, 2]
    finally:
        tables.spark.conf.set("spark.databricks.delta.stats.skipping", "false")


def test_of_two_writers_of_one_batch_the_second_finds_it_done(tables: Tables) -> None:
    path, files = tables.path(NAME), made_by_workers(tables, 1).collect()
    one, two, three = (opened(tables) for _ in range(3))
    adding.add(one, files, "application", 1, "text")
    with pytest.raises(ConflictError, match="run it again") as failure, adding.explained(path):
        adding.add(two, files, "application", 1, "text")
    assert is_conflict(failure.value)
    # What another one committed meanwhile is no conflict.
    adding.add(two, [], "another", 2, "text")
    now = opened(tables)
    assert [adding.has_seen(now, "application", n) for n in (1, 2)] == [True, False]
    assert [adding.has_seen(now, "another", n) for n in (1, 2, 3)] == [True, True, False]
    assert tables.read(NAME).count() == 2
    # A table that was opened before sees it as well, when the job commits to it.
    for batch in (3, 3):
        tables.add_files(NAME, three, made_by_workers(tables, batch).collect, batch=batch)
    assert tables.read(NAME).count() == 4


def test_a_full_disk_is_an_error_with_the_mend_and_the_next_run_does_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    with small_disk(tmp_path / "d", DISK_BYTES) as disk:
        tables = tables_at(spark, disk.folder / "tables")
        made, table = made_by_workers(tables, 1).persist(), opened(tables)
        assert made.count() == 1
        disk.fill()
        with pytest.raises(IngestError, match=r"No space left on device .*run it again") as failure:
            tables.add_files(NAME, table, made.collect, batch=1)
        assert "\x1b" not in str(failure.value)
        disk.empty()
        tables.add_files(NAME, opened(tables), made.collect, batch=1)
        made.unpersist()
        assert tables.read(NAME).count() == 2


def test_a_table_that_cannot_be_read_is_an_error_with_the_mend(tables: Tables) -> None:
    log = Path(tables.path(NAME)) / "_delta_log"
    for commit in log.glob("*.json"):
        commit.write_bytes(b"{")
    with pytest.raises(IngestError, match="run it again"):
        adding.writable(tables.path(NAME))


def test_only_folders_with_a_table_as_this_job_makes_it_are_written_to_without_spark(
    tables: Tables, tmp_path: Path
) -> None:
    assert adding.writable("s3a://bucket/tables/events") is None
    assert [tables.has(name) for name in ("nothing", NAME)] == [False, True]
    assert adding.writable(str(tmp_path / "nothing")) is None
    folder = Path(tables.path(NAME))
    for place in (str(folder), folder.as_uri()):
        table = adding.writable(place)
        assert table is not None
        assert adding.folder_of(table) == folder
    tables.spark.sql(f"ALTER TABLE delta.`{folder}` ADD CONSTRAINT later CHECK (sequence > 5)")
    assert adding.writable(str(folder)) is None
