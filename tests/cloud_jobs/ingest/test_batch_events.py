"""Where nothing has to be looked up the workers write a batch's events, elsewhere Spark does: of
the same files the same rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cloud_jobs.ingest import batch_events
from cloud_jobs.ingest.batch_events import Events
from cloud_jobs.ingest.trust import SignedFile
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.schemas import EVENTS
from tests.cloud_jobs.staged_files import staged_table
from tests.contract.segments import LogWriter, opened, readings


def writers_of(table: Path) -> list[str]:
    """Who made the commits that added files, the oldest first."""
    found = []
    for commit in sorted((table / "_delta_log").glob("*.json")):
        lines = [json.loads(line) for line in commit.read_text().splitlines()]
        if any("add" in line for line in lines):
            engine = next(
                line["commitInfo"]["engineInfo"] for line in lines if "commitInfo" in line
            )
            found.append("workers" if engine.startswith("delta-rs") else "Spark")
    return found


def tables_at(spark: SparkSession, root: Path) -> Tables:
    made = Tables(spark, str(root), {"events": EVENTS}, marker="events")
    made.create()
    return made


def rows_of(tables: Tables) -> list[dict[str, object]]:
    return sorted((row.asDict() for row in tables.read("events").collect()), key=repr)


def test_workers_and_spark_write_the_same_rows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LogWriter("gw-1")
    one = tables_at(spark, tmp_path / "one")
    files = staged_table(one, log.seal([opened(), *readings(3)]), log.seal(readings(2, first=4)))
    for _ in range(2):
        Events(one, 1, files, []).commit()
    monkeypatch.setattr(batch_events, "writable", lambda _: None)
    other = tables_at(spark, tmp_path / "other")
    for tables in (other, one):
        Events(tables, 1, files, []).commit()
    assert writers_of(tmp_path / "one/events") == ["workers"]
    assert writers_of(tmp_path / "other/events") == ["Spark"]
    assert rows_of(one) == rows_of(other)
    assert len(rows_of(one)) == 1 + 6 + 4


def test_events_that_may_be_there_already_are_looked_up_by_spark(
    spark: SparkSession, tmp_path: Path
) -> None:
    tables = tables_at(spark, tmp_path)
    first = LogWriter("gw-1").seal([opened(), *readings(1)])
    Events(tables, 1, staged_table(tables, first), []).commit()
    again = LogWriter("gw-1").seal([opened(), *readings(2)])
    file = SignedFile(again.name, "", again.name, "gw-1", 1, 1, 5, None)
    second = Events(tables, 2, staged_table(tables, again, name="_staging/2"), [file])
    second.commit()
    assert writers_of(tmp_path / "events") == ["workers", "Spark"]
    assert [row["batch"] for row in rows_of(tables)] == [1, 1, 1, 2, 2]
    assert [rows.count() for rows in second.refused()] == [0]
