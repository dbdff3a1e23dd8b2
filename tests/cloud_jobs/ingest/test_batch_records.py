"""Of a gateway the same rows are made, whether its files are taken as they are or read again."""

from __future__ import annotations

from typing import Any

from tests.cloud_jobs.conftest import Place
from tests.contract.segments import (
    Event,
    LogWriter,
    closed,
    held,
    opened,
    payload_of,
    published,
    readings,
    released,
    sealed,
)

LANDINGS: list[list[list[Event]]] = [
    [
        [opened(), *readings(3), held(4, payload_of(4, sequence=4)), released(99)],
        [released(4), held(5, payload_of(5, sequence=5)), published(6, "no JSON"), closed()],
    ],
    [[opened(2), released(5), *readings(2, first=7), published(9, '[{"n":"x","v":1}]')]],
]
"""Of one gateway: halves in two segments of a batch, and in two batches."""
OWN = {"gateway", "batch", "verified_at", "segment_name", "name", "path", "file_sha256"}


def rows_of(place: Place, table: str, gateway: str, kind: str = "true") -> list[dict[str, Any]]:
    found = place.rows(table, f"gateway = '{gateway}' AND {kind}")
    rows = [{k: v for k, v in row.asDict().items() if k not in OWN} for row in found]
    return sorted(rows, key=repr)


def test_a_plain_gateway_has_the_rows_of_one_with_overlapping_segments(
    place: Place,
) -> None:
    plain, odd = LogWriter("plain"), LogWriter("odd")
    for number, landing in enumerate(LANDINGS):
        for events in landing:
            first, began = odd.sequence, odd.time_ms
            for log in (plain, odd):
                log.seal(events).write_to(place.landing)
            # The events of the odd one land twice, in segments of another name.
            lines = [
                {"sequence": first + index, "time": began + 10 * index, **event}
                for index, event in enumerate(events)
            ]
            again = sealed(lines, first_sequence=first, gateway="odd", segment=90 + number)
            again.write_to(place.landing)
        report = place.run()
        assert report.events_duplicate == sum(map(len, landing))
    for table in ("events", "sensor_readings", "sessions"):
        rows = rows_of(place, table, "plain")
        assert rows == rows_of(place, table, "odd")
        assert rows
    refused = rows_of(place, "quarantine", "plain", "kind = 'payload'")
    assert [row["sequence"] for row in refused] == [12]
    assert refused == rows_of(place, "quarantine", "odd", "kind = 'payload'")
    values = [row.value for row in place.rows("sensor_readings", "gateway = 'plain'")]
    assert sorted(values) == [1.0, 4.0, 5.0, 20.125, 20.25, 20.375, 20.875, 21.0]
    assert {row.batch for row in place.rows("batches")} == {1, 2}
