"""A run without new segments is detected without a JVM, and reports the same as with Spark."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from cloud_jobs.errors import TablesBusyError
from cloud_jobs.ingest.run_lock import locked
from cloud_jobs.nothing_new import report_if_nothing_new
from cloud_jobs.settings import IngestSettings
from tests.cloud_jobs.conftest import Ingested


@pytest.fixture
def settings(ingested: Ingested, tmp_path: Path) -> IngestSettings:
    """Landed files and tables with every kind of fault, after a run that found nothing new."""
    there = ingested.place.settings
    found = replace(there, source=str(tmp_path / "landed"), tables=str(tmp_path / "tables"))
    shutil.copytree(there.source, found.source)
    shutil.copytree(there.tables, found.tables)
    return found


def test_the_report_is_that_of_spark_and_what_spark_has_to_examine_is_left_to_it(
    ingested: Ingested, settings: IngestSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = report_if_nothing_new(ingested.place.settings)
    assert report is not None
    shown, by_spark = report.as_json(), ingested.idle.as_json()
    assert shown | {"seconds": 0} == by_spark | {"seconds": 0}

    landed = Path(settings.source)
    assert report_if_nothing_new(settings) is not None
    new = landed / "new.jsonl.zst"
    new.write_bytes(b"")
    assert report_if_nothing_new(settings) is None
    new.rename(landed / "_new.jsonl.zst")
    assert report_if_nothing_new(settings) is not None, "Spark passes over such a name"
    (refused,) = landed.rglob("huge.jsonl.zst")
    size = refused.stat().st_size
    os.truncate(refused, size - 1)
    assert report_if_nothing_new(settings) is None, "a refused file has other bytes"
    os.truncate(refused, size)
    (landed / "link").symlink_to(landed)
    assert report_if_nothing_new(settings) is None, "Spark follows links"
    (landed / "link").unlink()
    staged = Path(settings.tables, "_staging", "00000009")
    staged.mkdir()
    assert report_if_nothing_new(settings) is None, "a run has died"
    staged.rmdir()
    assert report_if_nothing_new(settings) is not None
    monkeypatch.setenv("HADOOP_CONF_DIR", "/etc/hadoop")
    assert report_if_nothing_new(settings) is None, "a path may be a cluster's"


def test_another_run_on_the_tables_is_reported(settings: IngestSettings) -> None:
    with (
        locked(Path(settings.tables)),
        pytest.raises(TablesBusyError, match=r"another ingest .* is writing"),
    ):
        report_if_nothing_new(settings)


def test_where_tables_are_elsewhere_or_not_there_spark_looks(tmp_path: Path) -> None:
    here = str(tmp_path)
    for source, tables in (("s3a://landing", here), (here, "s3a://lake"), (here, here)):
        assert report_if_nothing_new(IngestSettings(source=source, tables=tables)) is None
