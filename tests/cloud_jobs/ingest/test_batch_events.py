"""Where nothing has to be looked up the workers write a batch's events, elsewhere Spark does: of
the same files the same rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cloud_jobs.ingest import batch_events
from cloud_jobs.main import ingest
from cloud_jobs.settings import IngestSettings
from tests.cloud_jobs.conftest import Place
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


def rows_of(place: Place) -> list[dict[str, Any]]:
    return sorted((row.asDict() for row in place.rows("events")), key=repr)


def test_workers_and_spark_write_the_same_rows(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = LogWriter("gw-1")
    log.seal([opened(), *readings(3)]).write_to(place.landing)
    log.seal(readings(2, first=4)).write_to(place.landing)
    place.run()
    tables = Path(place.settings.tables)
    for name in ("events", "sensor_readings"):
        assert writers_of(tables / name) == ["workers"]
    monkeypatch.setattr(batch_events, "folder_of", lambda _: None)
    other = IngestSettings(source=place.settings.source, tables=f"{tables}-by-spark")
    ingest(place.spark, other, lambda _: None, lambda _: None)
    assert writers_of(Path(other.tables) / "events") == ["Spark"]
    by_spark = place.spark.read.format("delta").load(f"{other.tables}/events").collect()
    assert rows_of(place) == sorted((row.asDict() for row in by_spark), key=repr)


def test_events_that_may_be_there_already_are_looked_up_by_spark(place: Place) -> None:
    log = LogWriter("gw-1")
    log.seal([opened(), *readings(1)]).write_to(place.landing)
    place.run()
    again = LogWriter("gw-1")
    again.seal([opened(), *readings(2)]).write_to(place.landing)
    report = place.run()
    tables = Path(place.settings.tables)
    assert writers_of(tables / "events") == ["workers", "Spark"]
    assert (report.events_new, report.events_duplicate) == (2, 3)
    assert len(place.rows("events")) == 5
