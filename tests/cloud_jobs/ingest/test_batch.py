"""A batch is numbered, staged by one run only, and finished with its counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cloud_jobs.errors import IngestError
from cloud_jobs.ingest.batch import STEPS, Batch, last_finished
from cloud_jobs.ingest.landing import contents_of
from cloud_jobs.ingest.run import ingest_batches
from cloud_jobs.tables import making
from cloud_jobs.tables.delta_tables import Tables
from tests.cloud_jobs.conftest import Ingested, Place
from tests.contract.segments import OTHER_SEED, SEED, LogWriter, opened, public_key_of


def silent(_: str) -> None:
    return None


def test_of_two_runs_that_begin_one_batch_the_second_is_refused(place: Place) -> None:
    tables = Tables(place.spark, place.settings.tables)
    empty = place.landing / "empty.zst"
    empty.touch()
    _, files = contents_of(place.spark, [f"file:{empty}"])
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


class Killed(BaseException):
    """Raised instead of a SIGKILL. The job has no handler for it."""


@pytest.mark.long
def test_a_batch_is_finished_by_the_keys_with_which_it_began(place: Place) -> None:
    log, keys = LogWriter(seed=SEED), place.landing.parent / "keys"
    log.seal([opened()]).write_to(place.landing)
    keys.write_text(f"gw-1 {public_key_of(OTHER_SEED)}\n")
    place.settings = replace(place.settings, keys=keys)
    tables = Tables(place.spark, place.settings.tables)
    making.create(tables)

    def die_after(step: str) -> None:
        # Only the commit shows that the keys are decided: no table has rows of this batch.
        if step == "events":
            raise Killed

    with pytest.raises(Killed):
        ingest_batches(tables, place.settings, silent, die_after)
    keys.write_text(f"gw-1 {public_key_of(SEED)}\n")
    place.run()
    (refused,) = place.rows("quarantine")
    assert (refused.batch, refused.reason) == (1, "foreign_key")
    (event,) = place.rows("events")
    assert event.batch == 2
    rows = place.rows("gateway_keys")
    assert {(row.public_key, row.is_withdrawn, row.batch) for row in rows} == {
        (public_key_of(OTHER_SEED), True, 2),
        (public_key_of(SEED), False, 2),
    }


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
