"""The job's composition root: one run at a time, and failures of Spark in one line."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from cloud_jobs.errors import IngestError
from cloud_jobs.ingest.run_lock import only_run
from cloud_jobs.main import ingest
from tests.cloud_jobs.conftest import Place


def test_a_run_beside_another_on_the_same_tables_is_refused_before_it_begins(place: Place) -> None:
    with (
        only_run(place.settings.tables),
        pytest.raises(IngestError, match=r"another ingest .* is writing"),
    ):
        place.run()
    assert place.landing.is_dir()


def test_a_failure_of_spark_is_one_line_with_the_mend(place: Place, empty_tables: Path) -> None:
    shutil.copytree(empty_tables, place.settings.tables)
    settings = replace(place.settings, source="no-such-scheme:///logs")
    with pytest.raises(IngestError, match=r"^Spark failed: [^\n]+run it again[^\n]+$"):
        ingest(place.spark, settings, lambda _: None, lambda _: None)
