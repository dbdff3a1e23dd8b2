"""Tables of other versions, and writes that are repeated."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cloud_jobs.errors import IngestError
from cloud_jobs.tables import making
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.merge import Builder, MergeRule
from cloud_jobs.tables.schemas import TABLES
from tests.cloud_jobs.conftest import Ingested, Place

HOSTILE = ["first", "it's", "a\\b", "x\\' OR 1=1 --", "{named}", ":names", "line\nbreak", "né€😀"]


def test_a_table_of_an_earlier_version_is_given_the_columns_that_came_later(
    ingested: Ingested,
) -> None:
    rows = ingested.place.rows("quarantine", "kind = 'segment'")
    assert {row.refused for row in rows} == {1}


def test_a_table_of_another_version_is_refused_and_left_alone(place: Place) -> None:
    place.spark.range(1).write.format("delta").save(f"{place.settings.tables}/segments")
    with pytest.raises(IngestError, match="another version of this job"):
        place.run()
    assert len(place.rows("segments")) == 1


def test_tables_are_made_below_a_relative_path(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    making.create(Tables(spark, "var/tables", {"batches": TABLES["batches"]}, marker="batches"))
    assert (tmp_path / "var/tables/batches/_delta_log").is_dir()


def test_a_write_that_is_repeated_for_its_batch_adds_nothing(
    place: Place,
) -> None:
    tables = Tables(place.spark, place.settings.tables)
    name, schema = "batches", TABLES["batches"]
    place.spark.createDataFrame([], schema).write.format("delta").save(tables.path(name))
    counts = range(1, len(schema) - 1)
    moment = datetime(2026, 11, 23, tzinfo=UTC)
    row = [(7, *counts, moment)]
    rows = place.spark.createDataFrame(row, schema)
    for batch in (7, 7, 8):
        tables.append(name, rows, batch=batch)
    assert len(place.rows(name)) == 2
    by_name = dict(zip(schema.fieldNames(), row[0], strict=True))
    read = by_name | {"finished_at": moment.replace(tzinfo=None)}  # UTC, as Spark gives it
    for batch in (8, 9, 9):
        tables.add_rows(name, [by_name], batch=batch)
    assert [one.asDict() for one in place.rows(name)] == [read] * 3
    tables.append(name, rows.where("false"), batch=11)
    assert [tables.has_written(name, batch) for batch in (1, 7, 8, 11, 12)] == [
        False,
        True,
        True,
        True,
        False,
    ]

    def add_one(found: Builder) -> Builder:
        return found.whenMatchedUpdate(set={"quarantined": "old.quarantined + 1"})

    for batch in (1, 1):
        tables.merge(name, rows, MergeRule("old.batch = new.batch", add_one), batch=batch)
    assert {found.quarantined for found in place.rows(name)} == {row[0][6] + 1}


def test_a_query_takes_hostile_texts_as_values(place: Place) -> None:
    tables = Tables(place.spark, place.settings.tables)
    rows = [(n, name, n % 2 == 0) for n, name in enumerate(HOSTILE)]
    named = place.spark.createDataFrame(rows, "number long, name string, is_even boolean")
    named.write.format("delta").save(tables.path("named"))
    asked = (
        "SELECT mine.number AS number, named.name AS name, named.is_even AS is_even "
        "FROM {named} AS named JOIN (VALUES :mine) AS mine (number, name) "
        "ON named.name = mine.name WHERE named.name IN :names AND named.name <> :other "
        "AND named.number NOT IN :nothing OR FALSE ORDER BY named.number"
    )
    values: dict[str, Any] = {
        "mine": [(n, name) for n, name in enumerate(HOSTILE)], "names": HOSTILE,
        "other": HOSTILE[0], "nothing": [-1],
    }  # fmt: skip
    expected = [
        {"number": n, "name": name, "is_even": n % 2 == 0} for n, name in enumerate(HOSTILE)
    ][1:]
    assert tables.query(asked, **values) == expected


def test_a_table_is_removed_with_its_files_or_emptied(spark: SparkSession, tmp_path: Path) -> None:
    tables = Tables(spark, str(tmp_path))
    for name, remove in (("one", tables.remove), ("other", tables.empty)):
        spark.range(3).write.format("delta").save(tables.path(name))
        assert tables.has(name)
        remove(name)
        assert not tables.has(name)
        assert [path.suffix for path in (tmp_path / name).glob("*.parquet")] == []
    tables.remove("one")
