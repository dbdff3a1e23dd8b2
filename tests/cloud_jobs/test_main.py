"""The job's main module: one run at a time, and failures of Spark in one line."""

from __future__ import annotations

import shutil
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from cloud_jobs.errors import IngestError
from cloud_jobs.ingest.run_lock import only_run
from cloud_jobs.main import follow, ingest
from tests.cloud_jobs.conftest import Place
from tests.contract.segments import LogWriter, opened


def test_a_run_beside_another_on_the_same_tables_is_refused_before_it_begins(place: Place) -> None:
    with (
        only_run(place.spark, place.settings.tables),
        pytest.raises(IngestError, match=r"another ingest .* is writing"),
    ):
        place.run()
    assert place.landing.is_dir()


def test_a_failure_of_spark_is_one_line_with_the_mend(place: Place, empty_tables: Path) -> None:
    shutil.copytree(empty_tables, place.settings.tables)
    settings = replace(place.settings, source="no-such-scheme:///logs")
    with pytest.raises(IngestError, match=r"^Spark failed: [^\n]+run it again[^\n]+$"):
        ingest(place.spark, settings, lambda _: None, lambda _: None)


@pytest.mark.long
def test_following_takes_what_lands_until_it_is_stopped(place: Place, empty_tables: Path) -> None:
    shutil.copytree(empty_tables, place.settings.tables)
    log, stop, runs = LogWriter("gw-1"), threading.Event(), list[str]()
    log.seal([opened()]).write_to(place.landing)

    def progress(line: str) -> None:
        if not line.endswith("are new"):
            return
        runs.append(line)
        if len(runs) == 1:
            log.seal([opened()]).write_to(place.landing)
        else:
            stop.set()

    report = follow(place.settings, progress, seconds=0.01, stop=stop)
    assert runs == ["1 segments, 1 events are new"] * 2
    assert (report.segments_ingested, report.tables["events"].rows) == (1, 2)
    assert report.gold is None
