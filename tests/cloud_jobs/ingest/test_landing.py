"""The files that a run reads, and file names that are used unchanged."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cloud_jobs.errors import IngestError
from tests.cloud_jobs import landings
from tests.cloud_jobs.conftest import Ingested, Place


def test_directories_and_files_with_the_characters_of_patterns_are_taken_literally(
    ingested: Ingested,
) -> None:
    rows = ingested.place.rows
    assert len(rows("events", "gateway = 'odd'")) == 2
    refused = {row.name for row in rows("segments", "state = 'quarantined'")}
    assert refused >= {f"{name}.zst" for name in landings.ODD_NAMES}
    assert ingested.first.files_ignored == 1
    assert not any(name.startswith(".") for name in refused)


def test_a_source_that_does_not_exist_is_refused_in_one_line(
    place: Place, empty_tables: Path
) -> None:
    shutil.copytree(empty_tables, place.settings.tables)
    place.landing.rmdir()
    with pytest.raises(IngestError, match="landed does not exist; let the gateway upload"):
        place.run()
