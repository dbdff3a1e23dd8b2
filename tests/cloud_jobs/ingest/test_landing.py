"""Which files are looked at, and that their names are taken as they are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cloud_jobs.errors import IngestError
from cloud_jobs.ingest.landing import refused_among
from cloud_jobs.tables.delta_tables import Tables
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


def test_names_that_were_not_looked_at_are_not_said_to_be_known(ingested: Ingested) -> None:
    tables = Tables(ingested.place.spark, ingested.place.settings.tables)
    odd = {f"{name}.zst" for name in landings.ODD_NAMES}
    settled = {row.name for row in ingested.place.rows("segments", "state = 'ingested'")}
    refused = refused_among(tables, odd | settled)
    assert refused is not None
    assert {*refused} == odd
    assert refused_among(tables, odd | {"vanished.zst"}) is None
    assert refused_among(tables, {f"{number}.zst" for number in range(1000)}) is None
