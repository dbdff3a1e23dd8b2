"""An ingestion that also updates the gold tables, in a single run and with `--follow`."""

from __future__ import annotations

import shutil
import threading
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from cloud_jobs.ingest.run_lock import only_run
from cloud_jobs.main import follow, run
from tests.cloud_jobs.conftest import Place
from tests.contract.segments import LogWriter, opened


def test_a_run_with_gold_also_updates_the_tables_of_the_report(
    place: Place, empty_tables: Path
) -> None:
    shutil.copytree(empty_tables, place.settings.tables)
    LogWriter("gw-1").seal([opened()]).write_to(place.landing)
    settings = replace(place.settings, is_gold_updated=True, is_audited=False)
    lines = list[str]()
    report = run(settings, lines.append)
    assert report.gold is not None
    assert (report.gold["batches"], report.gold["through_batch"]) == (1, 1)
    assert (report.gold["is_audited"], report.gold["audited_through"]) == (False, 0)
    assert lines.index("counting") < lines.index("step 1 of 9: clock corrections")
    (row,) = place.rows("gateway_health")
    assert (row["gateway"], row["events"]) == ("gw-1", 1)


@pytest.mark.long
def test_following_with_gold_updates_it_when_it_is_behind_and_free(
    place: Place, empty_tables: Path
) -> None:
    shutil.copytree(empty_tables, place.settings.tables)
    log, stop, lines = LogWriter("gw-1"), threading.Event(), list[str]()
    log.seal([opened()]).write_to(place.landing)
    others, other = ExitStack(), only_run(place.spark, place.settings.tables)

    def progress(line: str) -> None:
        lines.append(line)
        if line.endswith("are new"):
            if lines.count(line) == 1:
                # The ingestion has released its lock.
                others.enter_context(other)
            else:
                stop.set()
        elif line.endswith("trying again"):
            others.close()
        elif line.startswith("step 8"):
            log.seal([opened()]).write_to(place.landing)

    settings = replace(place.settings, is_gold_updated=True, is_audited=False)
    report = follow(settings, progress, seconds=0.01, stop=stop)
    assert sum(line.endswith("trying again") for line in lines) >= 1
    assert report.gold is not None
    assert (report.gold["batches"], report.gold["through_batch"]) == (1, 1)
    assert report.tables["events"].rows == 2
