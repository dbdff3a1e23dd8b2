"""Unsigned events, which may be forged, are withdrawn when the gateway's first key arrives."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from cloud_jobs.ingest.run import ingest_batches
from cloud_jobs.tables.delta_tables import Tables
from tests.cloud_jobs.conftest import Place
from tests.cloud_jobs.forgeries import KEY, forged_session
from tests.cloud_jobs.landings import land
from tests.contract.segments import (
    SEED,
    LogWriter,
    closed,
    opened,
    readings,
)


def clients(place: Place) -> set[str]:
    return {row.client_id for row in place.rows("events") if row.client_id is not None}


def test_real_events_win_over_forged_ones_that_came_first(place: Place) -> None:
    """Gateway `new` signs all its segments, `old` only from the third on.

    For each gateway, a forged segment is in the tables before the real segments arrive.
    """
    new, old = LogWriter("new", seed=SEED), LogWriter("old", store="00" * 8)
    first = old.seal([opened(1, "real"), *readings(2)])
    land(place.landing, first, forged_session(new, segment=1, first=1))
    land(place.landing, forged_session(old, segment=2, first=6, previous=first.sha256))
    assert place.run().segments_ingested == 3
    assert "forger" in clients(place)

    second = old.seal([*readings(1, first=3), closed()])
    old.seed = SEED
    land(place.landing, second, old.seal(readings(1, first=4)))
    land(place.landing, new.seal([opened(1, "real"), *readings(2)]))
    assert place.run().quarantined_new == 2
    assert "forger" not in clients(place)
    found = Counter(row.gateway for row in place.rows("events"))
    assert found == {"new": new.sequence - 1, "old": old.sequence - 1}
    assert {row.value for row in place.rows("sensor_readings")}.isdisjoint({666.0})
    states = Counter((row.gateway, row.state, row.reason) for row in place.rows("segments"))
    assert states == {
        ("new", "ingested", None): 1,
        ("new", "quarantined", "unsigned"): 1,
        ("old", "ingested", None): 3,
        ("old", "quarantined", "unsigned"): 1,
    }
    refused = place.rows("quarantine")
    assert Counter((row.kind, row.reason) for row in refused) == {("segment", "unsigned"): 2}
    # The forged files are still in the landing directory.
    assert place.run().batches == 0


@pytest.mark.long
def test_forged_segments_go_when_a_key_is_pinned_and_a_killed_run_is_continued(
    place: Place,
) -> None:
    log = LogWriter("pinned")
    land(place.landing, log.seal([opened(1, "early"), *readings(1)]))
    place.run()
    log.seed = SEED
    # The chain does not include the segment before: the header names another one.
    log.previous_sha256 = "ab" * 32
    land(place.landing, log.seal(readings(1, first=2)))
    tables = Tables(place.spark, place.settings.tables)
    keys = place.landing.parent / "keys"
    keys.write_text(f"pinned {KEY}\n")

    class Killed(BaseException):
        pass

    def die(step: str) -> None:
        if step == "withdraw":
            raise Killed

    place.settings = replace(place.settings, keys=keys)
    with pytest.raises(Killed):
        ingest_batches(tables, place.settings, lambda _: None, die)
    place.run()
    rows = place.rows("events")
    assert {row.segment for row in rows} == {2}
    assert {row.state for row in place.rows("segments", "segment = 1")} == {"quarantined"}
    assert len(place.rows("quarantine")) == 1
    assert [row.quarantined for row in place.rows("batches", "batch = 2")] == [1]
