"""Compaction: many small files become one, and tables with few files are not rewritten."""

from pathlib import Path

import pytest

from cloud_jobs.limits import COMPACT_FILES_MIN
from cloud_jobs.maintenance.compact import ORDER, compact
from cloud_jobs.maintenance.vacuum import NAMES
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.gold_schemas import GOLD_TABLES
from cloud_jobs.tables.schemas import PARTITIONS, TABLES
from tests.cloud_jobs.conftest import Place


@pytest.mark.long
def test_a_day_of_many_small_files_is_written_once_and_then_left_alone(
    place: Place, empty_tables: Path
) -> None:
    tables = Tables(place.spark, place.settings.tables)
    for name in ("events", "segments"):
        (Path(tables.path(name)).parent).mkdir(parents=True, exist_ok=True)
        empty = place.spark.read.format("delta").load(str(empty_tables / name))
        names = {"gateway": "'g'", "sequence": "id", "day": "DATE '2026-01-02'"}
        rows = place.spark.range(100).repartition(COMPACT_FILES_MIN).selectExpr(
            "id",
            *(f"CAST({names.get(f.name, 'NULL')} AS {f.dataType.simpleString()}) AS {f.name}"
              for f in empty.schema),
        ).drop("id")  # fmt: skip
        writer = rows.write.format("delta")
        (writer.partitionBy("day") if name == "events" else writer).save(tables.path(name))
    first = compact(tables, lambda _: None)["tables"]
    assert set(first) == {"events", "segments"}
    for row in first.values():
        assert (row["partitions"], row["files_removed"], row["files_added"]) == (
            1,
            COMPACT_FILES_MIN,
            1,
        )
    again = compact(tables, lambda _: None)["tables"]
    assert all(row["partitions"] == 0 for row in again.values())
    assert len(place.rows("events")) == 100


def test_every_table_is_vacuumed_and_those_that_grow_are_compacted() -> None:
    assert {*NAMES} == {*TABLES, *GOLD_TABLES}
    assert {*NAMES} - {*ORDER} == {"gaps", "audit_daily", "drops", "carried_events"}


def test_no_table_is_clustered_by_its_partitions_which_delta_refuses() -> None:
    for name, order in ORDER.items():
        schema = (TABLES | GOLD_TABLES)[name]
        assert set(order) <= {*schema.fieldNames()} - {*PARTITIONS.get(name, ())}, name
