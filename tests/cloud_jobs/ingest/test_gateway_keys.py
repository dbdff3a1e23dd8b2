"""Forged segments beside real ones: the tables hold what the gateway signed, and nothing else."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from cloud_jobs.audit.run import audited
from cloud_jobs.report import IngestReport
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

NEW_SEED = bytes(range(64, 96))
KEY, OTHER, NEW = map(public_key_of, (SEED, OTHER_SEED, NEW_SEED))


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
    reports: list[IngestReport]
    tables_before_the_key: Path


@pytest.fixture(scope="module")
def forgeries(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Forged:
    """A signing gateway whose next segment lands in four forged forms before the real one does;
    then its key is lost, and the new one is added to the keys file."""
    place = Place(spark, tmp_path_factory.mktemp("forged"))
    old, log = LogWriter("gw-old"), LogWriter("gw-1", seed=SEED)
    land(place.landing, old.seal([opened(), *readings(1)]), log.seal([opened(), *readings(1)]))
    reports = [place.run()]
    signature = {"signature": "00" * 64}
    land(
        place.landing,
        forged(log, seed=OTHER_SEED),
        forged(log, seed=None),
        forged(log, seed=SEED, **signature),
    )
    # Unsigned, as an older number, with the events that come next.
    land(place.landing, backdated(log))
    neighbour = LogWriter("gw-2", seed=OTHER_SEED)
    land(place.landing / "gw-2", neighbour.seal([opened()]))
    reports.append(place.run())
    # Into the folder of another gateway; in its own place the same file is taken.
    real = log.seal(readings(2, first=2))
    land(place.landing / "gw-2", real)
    reports.append(place.run())
    (place.landing / "gw-2" / real.name).unlink()
    land(place.landing, real)
    log.seed = NEW_SEED
    land(place.landing, log.seal(readings(1, first=4)))
    reports.append(place.run())
    before = place.landing.parent / "before"
    shutil.copytree(place.settings.tables, before)
    keys = place.landing.parent / "keys"
    keys.write_text(f"gw-1 {KEY}\ngw-1 {NEW} new card\n")
    place.settings = replace(place.settings, keys=keys)
    reports.append(place.run())
    return Forged(place, reports, before)


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
        (3, "wrong_prefix"),
        (4, "foreign_key"),
    ]


def test_the_real_events_are_in_the_tables_and_no_forged_one_is(forgeries: Forged) -> None:
    rows = forgeries.place.rows("events", "gateway = 'gw-1'")
    assert sorted(row.sequence for row in rows) == list(range(1, 10))
    assert "forger" not in {row.client_id for row in rows}
    assert {row.gateway for row in forgeries.place.rows("events")} == {"gw-1", "gw-2", "gw-old"}
    assert forgeries.place.rows("quarantine", "kind = 'event'") == []


def test_keys_are_kept_with_where_they_come_from(forgeries: Forged) -> None:
    rows = forgeries.place.rows("gateway_keys")
    found = {(row.gateway, row.public_key, row.source, row.segment, row.batch) for row in rows}
    assert found == {
        ("gw-1", KEY, "pinned", 1, 5),
        ("gw-1", NEW, "pinned", None, 5),
        ("gw-2", OTHER, "first_use", 1, 2),
    }


def test_a_new_key_waits_for_the_keys_file_and_is_ingested_then(forgeries: Forged) -> None:
    ingested = [report.segments_ingested for report in forgeries.reports]
    quarantined = [report.segments_quarantined for report in forgeries.reports]
    assert ingested == [2, 1, 0, 1, 1]
    assert quarantined == [0, 4, 1, 1, 0]


def test_the_audit_says_which_key_vouches_for_what(forgeries: Forged) -> None:
    place = forgeries.place
    result = audited(place.spark, str(forgeries.tables_before_the_key), lambda _: None)
    assert result["signatures"] == [
        {"gateway": "gw-1", "public_key": KEY, "segments": 2},
        {"gateway": "gw-2", "public_key": OTHER, "segments": 1},
        {"gateway": "gw-old", "public_key": None, "segments": 1},
    ]
