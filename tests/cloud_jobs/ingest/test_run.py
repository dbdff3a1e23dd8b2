"""Several runs in a row: each ingests only what is new."""

from __future__ import annotations

from tests.cloud_jobs.conftest import Ingested


def test_a_run_without_anything_new_changes_nothing_and_reports_the_same(
    ingested: Ingested,
) -> None:
    assert (ingested.healed.batches, ingested.idle.batches) == (1, 0)
    for name, count in ingested.healed.tables.items():
        assert ingested.idle.tables[name].rows == count.rows
        assert ingested.idle.tables[name].changed == 0
    assert (ingested.idle.gaps, ingested.idle.gateways) == (
        ingested.healed.gaps,
        ingested.healed.gateways,
    )
    assert ingested.idle.quarantine == ingested.healed.quarantine


def test_no_event_and_no_reading_stands_in_the_tables_twice(ingested: Ingested) -> None:
    events = [(row.gateway, row.boot, row.sequence) for row in ingested.place.rows("events")]
    assert len(events) == len(set(events))
    readings = [(row.gateway, row.identity) for row in ingested.place.rows("sensor_readings")]
    assert len(readings) == len(set(readings))
