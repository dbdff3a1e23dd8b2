"""Forged segments beside real ones: the tables hold what the gateway signed, and nothing else."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cloud_jobs.audit.signatures import signatures_of
from cloud_jobs.ingest.run import ingest_batches
from cloud_jobs.tables.delta_tables import Tables
from tests.cloud_jobs.conftest import Place
from tests.cloud_jobs.landings import land
from tests.contract.segments import (
    OTHER_SEED,
    SEED,
    LogWriter,
    Segment,
    numbered,
    opened,
    public_key_of,
    readings,
    sealed,
)

NEW_SEED, THIRD_SEED = bytes(range(64, 96)), bytes(range(96, 128))
KEY, OTHER, NEW, THIRD = map(public_key_of, (SEED, OTHER_SEED, NEW_SEED, THIRD_SEED))


def forged(log: LogWriter, *, seed: bytes | None, **footer: object) -> Segment:
    """Other events in place of the ones that `log` writes next."""
    return sealed(
        numbered([opened(7, "forger")], log.sequence),
        first_sequence=log.sequence,
        gateway=log.gateway,
        segment=log.segment,
        previous_sha256=log.previous_sha256,
        seed=seed,
        footer=footer,
    )


@dataclass
class Forged:
    place: Place
    tables_before_the_key: Path


@pytest.fixture(scope="module")
def forgeries(
    spark: SparkSession, empty_tables: Path, tmp_path_factory: pytest.TempPathFactory
) -> Forged:
    """A signing gateway whose next segment lands in four forged forms before the real one does;
    then its key is lost, and the new one is added to the keys file."""
    place = Place(spark, tmp_path_factory.mktemp("forged"))
    shutil.copytree(empty_tables, place.settings.tables)
    tables = Tables(spark, place.settings.tables)

    def ingest_what_landed() -> None:
        ingest_batches(tables, place.settings, lambda _: None, lambda _: None)

    old, log = LogWriter("gw-old"), LogWriter("gw-1", seed=SEED)
    land(place.landing, old.seal([opened(), *readings(1)]), log.seal([opened(), *readings(1)]))
    land(place.landing / "gw-2", LogWriter("gw-2", seed=OTHER_SEED).seal([opened()]))
    ingest_what_landed()
    # A key that is new in the same batch as what is refused.
    land(place.landing, LogWriter("gw-3", seed=THIRD_SEED).seal([opened()]))
    signature = {"signature": "00" * 64}
    land(
        place.landing,
        forged(log, seed=OTHER_SEED),
        forged(log, seed=None),
        forged(log, seed=SEED, **signature),
    )
    # Unsigned, as an older number, with the events that come next.
    land(place.landing, backdated(log))
    # Into the folder of another gateway; in its own place the same file is taken.
    real = log.seal(readings(2, first=2))
    land(place.landing / "gw-2", real)
    ingest_what_landed()
    (place.landing / "gw-2" / real.name).unlink()
    land(place.landing, real)
    log.seed = NEW_SEED
    land(place.landing, log.seal(readings(1, first=4)))
    ingest_what_landed()
    before = place.landing.parent / "before"
    shutil.copytree(place.settings.tables, before)
    keys = place.landing.parent / "keys"
    keys.write_text(f"gw-1 {KEY}\ngw-1 {NEW} new card\n")
    place.settings = replace(place.settings, keys=keys)
    ingest_what_landed()
    return Forged(place, before)


def backdated(log: LogWriter) -> Segment:
    return sealed(
        numbered([opened(8, "forger")], log.sequence),
        first_sequence=log.sequence,
        gateway=log.gateway,
        segment=1,
    )


def test_each_forgery_goes_to_quarantine_with_its_reason(forgeries: Forged) -> None:
    rows = forgeries.place.rows("quarantine", "gateway = 'gw-1' AND kind = 'segment'")
    found = sorted((row.batch, row.reason) for row in rows)
    assert found == [
        (2, "bad_signature"),
        (2, "foreign_key"),
        (2, "unsigned"),
        (2, "unsigned"),
        (2, "wrong_prefix"),
        (3, "foreign_key"),
    ]


def test_the_real_events_are_in_the_tables_and_no_forged_one_is(forgeries: Forged) -> None:
    rows = forgeries.place.rows("events", "gateway = 'gw-1'")
    assert sorted(row.sequence for row in rows) == list(range(1, 10))
    assert "forger" not in {row.client_id for row in rows}
    assert {row.gateway for row in forgeries.place.rows("events")} == {
        "gw-1",
        "gw-2",
        "gw-3",
        "gw-old",
    }
    assert forgeries.place.rows("quarantine", "kind = 'event'") == []


def test_keys_are_kept_with_where_they_come_from(forgeries: Forged) -> None:
    rows = forgeries.place.rows("gateway_keys")
    found = {(row.gateway, row.public_key, row.source, row.segment, row.batch) for row in rows}
    assert found == {
        ("gw-1", KEY, "pinned", 1, 4),
        ("gw-1", NEW, "pinned", None, 4),
        ("gw-2", OTHER, "first_use", 1, 1),
        ("gw-3", THIRD, "first_use", 1, 2),
    }


def test_a_new_key_waits_for_the_keys_file_and_is_ingested_then(forgeries: Forged) -> None:
    batches = sorted(forgeries.place.rows("batches"), key=lambda row: int(row.batch))
    assert [row.segments_ingested for row in batches] == [3, 1, 1, 1]
    assert [row.segments_quarantined for row in batches] == [0, 5, 1, 0]


def test_each_segment_that_was_ingested_is_counted_with_its_signer(forgeries: Forged) -> None:
    tables = Tables(forgeries.place.spark, str(forgeries.tables_before_the_key))
    assert signatures_of(tables) == [
        {"gateway": "gw-1", "public_key": KEY, "segments": 2},
        {"gateway": "gw-2", "public_key": OTHER, "segments": 1},
        {"gateway": "gw-3", "public_key": THIRD, "segments": 1},
        {"gateway": "gw-old", "public_key": None, "segments": 1},
    ]
