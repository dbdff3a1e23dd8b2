"""A gateway with overlapping segments gets the same rows as a gateway without."""

from __future__ import annotations

from typing import Any

from tests.cloud_jobs.conftest import Ingested, Place

OWN = {"gateway", "batch", "verified_at", "segment_name", "name", "path", "file_sha256"}


def rows_of(place: Place, table: str, gateway: str, kind: str = "true") -> list[dict[str, Any]]:
    found = place.rows(table, f"gateway = '{gateway}' AND {kind}")
    rows = [{k: v for k, v in row.asDict().items() if k not in OWN} for row in found]
    return sorted(rows, key=repr)


def test_a_plain_gateway_has_the_rows_of_one_with_overlapping_segments(ingested: Ingested) -> None:
    place = ingested.place
    for table in ("events", "sensor_readings"):
        rows = rows_of(place, table, "once")
        assert rows == rows_of(place, table, "twice")
        assert rows
    refused = rows_of(place, "quarantine", "once", "kind = 'payload'")
    assert [row["sequence"] for row in refused] == [12]
    assert refused == rows_of(place, "quarantine", "twice", "kind = 'payload'")
    values = [row.value for row in place.rows("sensor_readings", "gateway = 'once'")]
    assert sorted(values) == [1.0, 4.0, 5.0, 20.125, 20.25, 20.375, 20.875, 21.0]
    assert {row.batch for row in place.rows("batches")} == {1, 2}
