"""Of the same landings the same tables are made: by this process, by workers, or by Spark alone."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from cloud_jobs.ingest import staged, staging
from cloud_jobs.report import IngestReport
from cloud_jobs.tables import adding, making
from cloud_jobs.tables.schemas import TABLES
from tests.cloud_jobs.conftest import Place
from tests.cloud_jobs.landings import (
    flooded,
    land,
    land_elsewhere,
    land_golden,
    land_session,
    log_of,
    senml_events,
)
from tests.cloud_jobs.two_landings import two_landings
from tests.contract.segments import opened

TIMES: Final = {"verified_at", "added_at", "finished_at"}
"""Columns that differ from run to run."""


def ingested(place: Place, way: str) -> list[IngestReport]:
    """Two runs into tables of their own; what they report."""
    tables = str(Path(place.settings.tables).with_name(way))
    place.settings = replace(place.settings, tables=tables)
    shutil.rmtree(place.landing)
    place.landing.mkdir()
    first, then = two_landings()
    then += land_session(place.landing)
    land_golden(place.landing)
    land_refused(place.landing)
    reports = []
    for segments in (first, then):
        land(place.landing, *segments)
        reports.append(replace(place.run(), seconds=0.0, tables_root=""))
    return reports


def land_refused(landing: Path) -> None:
    """What goes to quarantine as a file, a line or a payload, a flood of each, and copies."""
    log = log_of("faults")
    good, bad = log.seal([opened()]), log.seal([opened(2)])
    land(landing, good, log_of("senml").seal(senml_events()), *flooded())
    land_elsewhere(landing)
    (landing / "copy.jsonl.zst").write_bytes(good.content)
    (landing / "again").mkdir()
    for folder in (landing, landing / "again"):
        (folder / bad.name).write_bytes(bad.content[:-1])


def found(place: Place) -> dict[str, list[dict[str, Any]]]:
    """All rows of all tables."""
    return {
        name: sorted(
            ({k: v for k, v in row.asDict().items() if k not in TIMES} for row in place.rows(name)),
            key=repr,
        )
        for name in TABLES
    }


def writers_of(tables: str) -> set[str]:
    """The programs that have committed to any table."""
    lines = [line for path in Path(tables).glob("*/_delta_log/*.json")
             for line in path.read_text().splitlines()]  # fmt: skip
    found = [json.loads(line).get("commitInfo") for line in lines]
    return {re.split("[/:]", one["engineInfo"])[0] for one in found if one is not None}


def test_the_same_tables_are_made_with_spark_its_workers_or_neither(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    reports, rows = [], []
    for way in ("here", "workers", "spark"):
        if way == "workers":
            monkeypatch.setattr(staged, "HERE_BATCH_BYTES_MAX", 0)
            monkeypatch.setattr(staging, "HERE_BATCH_BYTES_MAX", 0)
        if way == "spark":
            for module in (adding, making, staging):
                monkeypatch.setattr(module, "local_folder", lambda _: None)
        reports.append(ingested(place, way))
        rows.append(found(place))
        engine = {"Apache-Spark"} if way == "spark" else {"delta-rs"}
        assert writers_of(place.settings.tables) == engine
    here, workers, spark = rows
    for name in ("segments", "events", "sessions", "sensor_readings", "batches", "quarantine"):
        assert here[name]
        assert here[name] == workers[name]
        assert here[name] == spark[name]
    assert reports[0] == reports[1] == reports[2]
