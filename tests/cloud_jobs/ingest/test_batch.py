"""A batch is numbered, staged by one run only, and finished with its counts."""

from __future__ import annotations

import pytest

from cloud_jobs.errors import IngestError
from cloud_jobs.ingest.batch import STEPS, Batch, last_finished
from cloud_jobs.ingest.landing import Landed
from cloud_jobs.tables.delta_tables import Tables
from tests.cloud_jobs.conftest import Ingested, Place


def silent(_: str) -> None:
    return None


def test_of_two_runs_that_begin_one_batch_the_second_is_refused(place: Place) -> None:
    tables = Tables(place.spark, place.settings.tables)
    empty = place.landing / "empty.zst"
    empty.touch()
    files = [Landed(f"file:{empty}", 0)]
    steps: list[str] = []
    batch = Batch(tables, 1, silent, steps.append)
    assert not batch.is_staged()
    batch.stage(files)
    assert batch.is_staged()
    with pytest.raises(IngestError, match=r"another ingest has just begun batch 1 in .*: wait"):
        Batch(tables, 1, silent, steps.append).stage(files)
    assert steps == [STEPS[0]]
    batch.sweep()
    assert not batch.is_staged()
    batch.sweep()


def test_a_finished_batch_has_counted_what_stands_in_the_tables(ingested: Ingested) -> None:
    place = ingested.place
    assert last_finished(Tables(place.spark, place.settings.tables)) == 2
    rows = {row.batch: row for row in place.rows("batches")}
    assert sorted(rows) == [1, 2]
    for number, row in rows.items():
        mine = f"batch = {number}"
        assert row.events_new == len(place.rows("events", mine))
        assert row.readings_new == len(place.rows("sensor_readings", mine))
        assert row.quarantined == len(place.rows("quarantine", mine))
