"""Each event is one row with its time and how good that is."""

from __future__ import annotations

from tests.cloud_jobs.conftest import Ingested


def test_rows_have_the_quality_of_their_time_and_no_time_breaks_a_table(ingested: Ingested) -> None:
    rows = ingested.place.rows
    for table in ("events", "sensor_readings"):
        assert {row.clock for row in rows(table, "gateway = 'boards'")} == {"unsynchronised"}
        assert {str(row.day) for row in rows(table, "gateway = 'boards'")} == {"1970-01-01"}
        assert {row.clock for row in rows(table, "gateway = 'halves'")} == {"synchronised"}
    (refused,) = rows("quarantine", "gateway = 'boards'")
    assert (refused.kind, refused.reason) == ("payload", "not_senml")
    assert "a time is out of range" in refused.detail
    assert [row.day.year for row in rows("events", "gateway = 'ahead'")] == [9999]


def test_of_two_segments_that_contradict_each_other_one_is_taken_and_both_are_kept(
    ingested: Ingested,
) -> None:
    rows = ingested.place.rows
    events = rows("events", "gateway = 'contradicts' AND sequence = 1")
    assert [row.client_id for row in events] == ["a"]
    (refused,) = rows("quarantine", "gateway = 'contradicts'")
    assert (refused.kind, refused.reason, refused.sequence) == ("event", "conflict", 1)
    assert '"client_id":"b"' in refused.raw
