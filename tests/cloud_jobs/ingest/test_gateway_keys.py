"""Forged segments beside real ones: the tables hold what the gateway signed, and nothing else."""

from __future__ import annotations

import shutil
from dataclasses import replace
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


@pytest.fixture(scope="module")
def forgeries(
    spark: SparkSession, empty_tables: Path, tmp_path_factory: pytest.TempPathFactory
) -> Place:
    """A signing gateway whose next segment lands in four forged forms before the real one does;
    then its key is lost, and the new one is added to the keys file.

    The key of each gateway is new in the batch in which what is refused by it lands.
    """
    place = Place(spark, tmp_path_factory.mktemp("forged"))
    shutil.copytree(empty_tables, place.settings.tables)
    tables = Tables(spark, place.settings.tables)
    old, log = LogWriter("gw-old"), LogWriter("gw-1", seed=SEED)
    third = LogWriter("gw-3", seed=THIRD_SEED)
    land(place.landing, old.seal([opened(), *readings(1)]), log.seal([opened(), *readings(1)]))
    land(place.landing / "gw-2", LogWriter("gw-2", seed=OTHER_SEED).seal([opened()]))
    land(place.landing, third.seal([opened()]))
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
    log.seed = NEW_SEED
    land(place.landing, log.seal(readings(1, first=4)))
    ingest_batches(tables, place.settings, lambda _: None, lambda _: None)
    (place.landing / "gw-2" / real.name).unlink()
    land(place.landing, real)
    # By a key that the batch before took on first use.
    land(place.landing, forged(third, seed=OTHER_SEED), third.seal(readings(1)))
    keys = place.landing.parent / "keys"
    keys.write_text(f"gw-1 {KEY}\ngw-1 {NEW} new card\n")
    place.settings = replace(place.settings, keys=keys)
    ingest_batches(tables, place.settings, lambda _: None, lambda _: None)
    return place


def backdated(log: LogWriter) -> Segment:
    return sealed(
        numbered([opened(8, "forger")], log.sequence),
        first_sequence=log.sequence,
        gateway=log.gateway,
        segment=1,
    )


def test_each_forgery_goes_to_quarantine_with_its_reason(forgeries: Place) -> None:
    rows = forgeries.rows("quarantine", "kind = 'segment'")
    found = sorted((row.batch, row.gateway, row.reason) for row in rows)
    assert found == [
        (1, "gw-1", "bad_signature"),
        (1, "gw-1", "foreign_key"),
        (1, "gw-1", "foreign_key"),
        (1, "gw-1", "unsigned"),
        (1, "gw-1", "unsigned"),
        (1, "gw-1", "wrong_prefix"),
        (2, "gw-3", "foreign_key"),
    ]


def test_the_real_events_are_in_the_tables_and_no_forged_one_is(forgeries: Place) -> None:
    rows = forgeries.rows("events", "gateway = 'gw-1'")
    assert sorted(row.sequence for row in rows) == list(range(1, 10))
    others = forgeries.rows("events", "gateway <> 'gw-1'")
    assert "forger" not in {row.client_id for row in (*rows, *others)}
    assert {row.gateway for row in others} == {"gw-2", "gw-3", "gw-old"}
    assert forgeries.rows("quarantine", "kind = 'event'") == []


def test_keys_are_kept_with_where_they_come_from(forgeries: Place) -> None:
    rows = forgeries.rows("gateway_keys")
    found = {(row.gateway, row.public_key, row.source, row.segment, row.batch) for row in rows}
    assert found == {
        ("gw-1", KEY, "pinned", 1, 2),
        ("gw-1", NEW, "pinned", None, 2),
        ("gw-2", OTHER, "first_use", 1, 1),
        ("gw-3", THIRD, "first_use", 1, 1),
    }


def test_a_new_key_waits_for_the_keys_file_and_is_ingested_then(forgeries: Place) -> None:
    batches = sorted(forgeries.rows("batches"), key=lambda row: int(row.batch))
    assert [row.segments_ingested for row in batches] == [4, 3]
    assert [row.segments_quarantined for row in batches] == [6, 1]


def test_each_segment_that_was_ingested_is_counted_with_its_signer(forgeries: Place) -> None:
    found = signatures_of(Tables(forgeries.spark, forgeries.settings.tables))
    assert {(one["gateway"], one["public_key"], one["segments"]) for one in found} == {
        ("gw-1", KEY, 2),
        ("gw-1", NEW, 1),
        ("gw-2", OTHER, 1),
        ("gw-3", THIRD, 2),
        ("gw-old", None, 1),
    }
