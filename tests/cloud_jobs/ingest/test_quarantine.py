"""Refused segments and payloads are recorded with a reason, in a limited number of rows."""

from __future__ import annotations

from cloud_jobs.limits import BAD_LINES_PER_SEGMENT_MAX, QUARANTINE_ROWS_MAX
from tests.cloud_jobs import landings
from tests.cloud_jobs.conftest import Ingested


def test_ten_damaged_segments_give_each_good_row_once_and_every_fault_its_reason(
    ingested: Ingested,
) -> None:
    rows = ingested.place.rows
    found = {(row.segment_name[:12], row.reason) for row in rows("quarantine", "kind = 'segment'")}
    assert found >= {
        ("damaged.0f3a", "cut"),
        ("damaged.0f3a", "damaged"),
        ("renamed.0f3a", "renamed"),
        ("huge.jsonl.z", "too_large"),
        ("empty.jsonl.", "cut"),
    }
    (line,) = rows("quarantine", "kind = 'line' AND gateway = 'malformed'")
    assert (line.raw, line.reason, line.sequence) == ('{"sequence":oops}', "not_json", 1)
    assert [row.sequence for row in rows("events", "gateway = 'malformed'")] == [2]
    (copy,) = rows("segments", "name = 'copy.jsonl.zst'")
    assert (copy.state, copy.reason) == ("duplicate", "duplicate")
    first = rows("events", "gateway = 'damaged' AND batch = 1")
    expected = [1, *range(2, 12), *range(22, 32), *range(62, 72)]
    assert sorted(row.sequence for row in first) == expected
    assert ingested.first.events_duplicate == 10 + 4 + 1 + 13


def test_a_flood_of_refusals_fills_no_table_and_is_counted(ingested: Ingested) -> None:
    lines = ingested.place.rows("quarantine", "gateway = 'flood' AND kind = 'line'")
    assert len(lines) == BAD_LINES_PER_SEGMENT_MAX + 1
    assert sum(row.refused for row in lines) == landings.FLOOD_LINES
    payloads = ingested.place.rows("quarantine", "gateway = 'flood' AND kind = 'payload'")
    assert len(payloads) == QUARANTINE_ROWS_MAX + 1
    assert sum(row.refused for row in payloads) == landings.FLOOD_PAYLOADS
    (more,) = [row for row in payloads if row.reason == "more"]
    assert more.refused == landings.FLOOD_PAYLOADS - QUARANTINE_ROWS_MAX
    assert more.sequence == landings.FLOOD_LINES + landings.FLOOD_PAYLOADS
    assert f"{more.refused} more refusals at events" in more.detail
    (segment,) = ingested.place.rows("segments", "gateway = 'flood'")
    assert (segment.state, segment.bad_lines) == ("ingested", landings.FLOOD_LINES)
    assert ingested.healed.quarantine["line", "more"] == landings.FLOOD_LINES - len(lines) + 1
