"""A batch is numbered, staged by one run only, and finished with its counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from cloud_jobs.errors import IngestError
from cloud_jobs.ingest.batch import STEPS, Batch, last_finished
from cloud_jobs.ingest.landed_file import Landed
from cloud_jobs.ingest.run import ingest_batches
from cloud_jobs.ingest.segment_file import verify
from cloud_jobs.tables.delta_tables import Tables
from tests.cloud_jobs.conftest import Ingested, Place
from tests.contract.segments import (
    OTHER_SEED,
    SEED,
    Event,
    LogWriter,
    numbered,
    opened,
    public_key_of,
    sealed,
)


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


class Killed(BaseException):
    """In place of SIGKILL: nothing of the job handles it."""


@pytest.mark.long
def test_a_batch_is_finished_by_the_keys_with_which_it_began(place: Place) -> None:
    log, keys = LogWriter(seed=SEED), place.landing.parent / "keys"
    log.seal([opened()]).write_to(place.landing)
    keys.write_text(f"gw-1 {public_key_of(OTHER_SEED)}\n")
    place.settings = replace(place.settings, keys=keys)
    tables = Tables(place.spark, place.settings.tables)
    tables.create()

    def die_after(step: str) -> None:
        # What tells that the keys are decided is the commit: nothing of this batch is in a table.
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


@pytest.mark.long
def test_a_batch_that_an_earlier_version_staged_is_finished(place: Place) -> None:
    lines: list[Event | bytes] = [*numbered([opened()], 1), b"{}\n"]
    path = sealed(lines, first_sequence=1).write_to(place.landing)
    tables = Tables(place.spark, place.settings.tables)
    tables.create()
    verdict = verify(path.name, path.read_bytes(), path.stat().st_size)
    header, claimed = verdict.header, verdict.claimed
    assert header is not None
    assert claimed is not None
    of_file = (
        path.name, verdict.file_bytes, verdict.file_sha256, verdict.uncompressed_bytes, "gw-1",
        header.boot, header.store, 1, 1, 2, "synchronised", None, 2, 1, f"file:{path}",
    )  # fmt: skip
    good, bad = verdict.lines
    rows = [
        (*of_file, None, None, None, None, None, None, None),
        (*of_file, 2, 1, good.body, None, None, None, None),
        (*of_file, 3, 2, None, None, bad.reason, bad.detail, bad.raw),
    ]
    earlier = place.spark.createDataFrame(
        rows,
        "name string, file_bytes long, file_sha256 string, uncompressed_bytes long, gateway string,"
        " boot string, store string, segment long, first_sequence long, last_sequence long,"
        " clock string, previous_sha256 string, lines long, bad_lines long, path string,"
        " line long, sequence long, body string, extra string, reason string, detail string,"
        " raw string",
    )
    earlier.write.format("delta").save(tables.path("_staging/00000001"))
    assert place.run().segments_ingested == 1
    (event,) = place.rows("events")
    assert (event.event, event.batch, event.line) == ("session_opened", 1, 2)
    (refused,) = place.rows("quarantine")
    assert (refused.kind, refused.line, refused.raw) == ("line", 3, "{}")


def test_a_finished_batch_has_counted_what_stands_in_the_tables(ingested: Ingested) -> None:
    place = ingested.place
    assert last_finished(Tables(place.spark, place.settings.tables)).batch == 2
    rows = {row.batch: row for row in place.rows("batches")}
    assert sorted(rows) == [1, 2]
    for number, row in rows.items():
        mine = f"batch = {number}"
        assert row.events_new == len(place.rows("events", mine))
        assert row.readings_new == len(place.rows("sensor_readings", mine))
        assert row.quarantined == len(place.rows("quarantine", mine))
