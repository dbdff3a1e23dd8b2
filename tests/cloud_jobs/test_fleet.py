"""A simulated fleet with faults, ingested in several runs with kills between: the tables show the
fleet's truth, and every fault is named in them."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from cloud_jobs.ingest.batch import STEPS
from tests.cloud_jobs.conftest import Place
from tests.cloud_jobs.deaths import ingested, killed_at, made_gold
from tests.instruments.fleet.fleet import Truth, fleet_of

SEED = 14
GOLD_STEPS = ("begin", "clock_corrections", "boots", "qos2_messages", "qos2_deliveries",
              "qos2_daily", "gateway_health", "gaps", "audit")  # fmt: skip
AUDITED_SECONDS = 2_000


def live(place: Place, *, gateways: int, landings: int) -> Truth:
    """Land a fleet; each run is killed once, at a step that the seed chooses."""
    fleet = fleet_of(SEED, gateways=gateways, landings=landings)
    source = random.Random(SEED)  # noqa: S311 - the same deaths in every run
    for number in range(landings):
        fleet.land(number, place.landing)
        killed_at(source.choice(STEPS[:-1]), lambda die: ingested(place, die))
        if number < landings - 1:
            continue
        ingested(place)
        killed_at(source.choice(GOLD_STEPS), lambda die: made_gold(place, die))
        made_gold(place)
    return fleet.truth


@pytest.mark.long
def test_five_gateways_with_every_fault_are_in_the_tables_as_they_were(place: Place) -> None:
    truth = live(place, gateways=5, landings=2)
    check_rows(place, truth)
    check_faults(place, truth)


@pytest.mark.long
@pytest.mark.timeout(AUDITED_SECONDS)
def test_fifty_gateways_with_every_fault_are_in_the_tables_as_they_were(place: Place) -> None:
    truth = live(place, gateways=50, landings=4)
    check_rows(place, truth)
    check_faults(place, truth)


def check_rows(place: Place, truth: Truth) -> None:
    """What was sent and has landed is a row, once."""
    events = [(row["gateway"], row["boot"], row["sequence"]) for row in place.rows("events")]
    assert len(events) == len(set(events))
    assert set(events) == truth.events
    readings = place.rows("sensor_readings")
    assert len(readings) == len(truth.readings)
    assert {
        (row["gateway"], row["device"], row["device_boot"], row["device_sequence"]): row["value"]
        for row in readings
    } == truth.readings
    for name, state in (("qos2_messages", "released"), ("qos2_deliveries", "completed")):
        rows = place.rows(name)
        assert {(row["gateway"], row["message"]) for row in rows} == truth.messages
        assert len(rows) == len(truth.messages)
        assert {row["state"] for row in rows} == {state}


def check_faults(place: Place, truth: Truth) -> None:
    """What was not sent, or not as it had to be, is named."""
    gaps = place.rows("gaps")
    assert {
        (row["gateway"], row["from_sequence"], row["to_sequence"])
        for row in gaps if row["kind"] != "sensor"
    } == truth.gaps  # fmt: skip
    assert {
        (row["device"], row["from_sequence"], row["to_sequence"])
        for row in gaps if row["kind"] == "sensor"
    } == truth.sensor_gaps  # fmt: skip
    refused = Counter(
        (row["gateway"], row["kind"], row["reason"]) for row in place.rows("quarantine")
    )
    assert refused == truth.refused
    assert len(place.rows("segments", "state = 'duplicate'")) == truth.doubled
    violating = {row["gateway"] for row in place.rows("audit_daily", "verdict = 'violation'")}
    assert violating == truth.violating
    named = {row["gateway"] for row in place.rows("qos2_messages", "verdict = 'violation'")}
    assert named == truth.violating
    _check_times(place, truth)


def _check_times(place: Place, truth: Truth) -> None:
    off: Counter[str] = Counter()
    for row in place.rows("gateway_health"):
        off[row["gateway"]] += row["offline_seconds"]
    assert dict(off) == pytest.approx(
        {gateway: ms / 1000 for gateway, ms in truth.offline_ms.items()}, abs=1
    )
    corrected = place.rows("qos2_messages", "time_quality <> 'synchronised'")
    assert {row["time_quality"] for row in corrected} <= {"corrected"}
    held = {
        (row["gateway"], row["message"]): round(row["held"].timestamp() * 1000) for row in corrected
    }
    assert held == truth.held_ms
