"""A run of `gold`: the batches that it processes, once each, and the tables afterwards."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from cloud_jobs.gold.run import update_gold
from cloud_jobs.tables.gold_schemas import GOLD_TABLES
from tests.cloud_jobs.conftest import Ingested, Place
from tests.cloud_jobs.deaths import killed_at, made_gold
from tests.cloud_jobs.forgeries import forged_session
from tests.cloud_jobs.landings import land
from tests.contract.segments import SEED, LogWriter, opened, readings


def test_a_run_with_nothing_new_changes_nothing(golden: Place) -> None:
    before = {name: golden.rows(name) for name in ("boots", "qos2_messages")}
    result = update_gold(golden.spark, golden.settings.tables, lambda _: None)
    assert (result["batches"], result["through_batch"]) == (0, 2)
    assert {name: golden.rows(name) for name in before} == before


def test_gaps_are_those_of_the_ingestion_and_verdicts_those_of_the_audit(
    golden: Place, ingested: Ingested, audit: dict[str, Any]
) -> None:
    assert len(golden.rows("gaps", "kind <> 'sensor'")) == ingested.idle.gaps_count
    for verdict, count in (("violation", "violations"), ("inconclusive", "inconclusive")):
        expected = Counter(
            found["gateway"] for found in audit["exceptions"] if found["verdict"] == verdict
        )
        found = Counter[str]()
        for row in golden.rows("audit_daily", f"{count} > 0"):
            found[row["gateway"]] += row[count]
        assert found == expected


@pytest.mark.long
def test_a_run_that_died_is_finished_first_wherever_it_died(
    golden: Place, ingested: Ingested, tmp_path: Path
) -> None:
    place = ingested.before_the_second_batch(tmp_path)
    steps = ("begin", "clock_corrections", "sessions", "qos2_messages", "qos2_deliveries",
             "discarded", "gateway_health", "gaps")  # fmt: skip
    for step in steps:
        killed_at(step, lambda die: made_gold(place, die))
        # Segments that landed meanwhile are not part of this run.
        shutil.copytree(ingested.place.settings.tables, place.settings.tables, dirs_exist_ok=True)
    result = update_gold(place.spark, place.settings.tables, lambda _: None)
    assert (result["batches"], result["through_batch"], result["is_audited"]) == (2, 2, True)
    for name in GOLD_TABLES:
        if name not in ("gold_runs", "carried_events"):
            found, expected = (
                sorted(map(repr, place.rows(name))),
                sorted(map(repr, golden.rows(name))),
            )
            assert found == expected, name


@pytest.mark.long
def test_events_that_were_withdrawn_are_in_no_gold_table(place: Place) -> None:
    log, other = LogWriter("new", seed=SEED), LogWriter("other")
    land(place.landing, forged_session(log, segment=1, first=1))
    land(place.landing, other.seal([opened(1), *readings(2)]))
    place.run()
    update_gold(place.spark, place.settings.tables, lambda _: None)
    assert "forger" in clients_of_sessions(place)

    land(place.landing, log.seal([opened(1, "real"), *readings(2)]))
    place.run()
    killed_at("begin", lambda die: made_gold(place, die))
    result = update_gold(place.spark, place.settings.tables, lambda _: None)
    assert (result["batches"], result["through_batch"], result["is_audited"]) == (2, 2, True)
    audited = {row["gateway"] for row in place.rows("audit_daily", "verdict = 'ok'")}
    assert audited == {"new", "other"}, "the emptied tables had the verdicts of both"
    assert clients_of_sessions(place)
    assert "forger" not in clients_of_sessions(place)
    assert {row["maximum"] for row in place.rows("sensor_days")}.isdisjoint({666.0})
    written = (log.sequence - 1) + (other.sequence - 1)
    assert sum(row["events"] for row in place.rows("gateway_health")) == written


def clients_of_sessions(place: Place) -> set[str]:
    return {row["client_id"] for row in place.rows("sessions")}
