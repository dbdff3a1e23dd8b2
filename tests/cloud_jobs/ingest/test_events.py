"""Each event is one row with its time and the quality of this time."""

from __future__ import annotations

from datetime import UTC, timedelta

from pyspark.sql import Column, SparkSession

from cloud_jobs.ingest.events import ranges_of
from cloud_jobs.ingest.trust import SignedFile
from cloud_jobs.limits import DAY_MIN, KEY_RANGES_MAX
from tests.cloud_jobs.conftest import Ingested


def test_rows_have_the_quality_of_their_time_and_no_time_breaks_a_table(ingested: Ingested) -> None:
    rows = ingested.place.rows
    for table in ("events", "sensor_readings"):
        assert {row.clock for row in rows(table, "gateway = 'boards'")} == {"unsynchronised"}
        assert {row.day for row in rows(table, "gateway = 'boards'")} == {DAY_MIN}
        assert {row.clock for row in rows(table, "gateway = 'halves'")} == {"synchronised"}
    (refused,) = rows("quarantine", "gateway = 'boards'")
    assert (refused.kind, refused.reason) == ("payload", "not_senml")
    assert "a time is out of range" in refused.detail
    (ahead,) = rows("events", "gateway = 'ahead'")
    (segment,) = rows("segments", "gateway = 'ahead'")
    tomorrow = segment.verified_at.astimezone(UTC).date() + timedelta(days=1)
    # The segment is read a moment before its row is written, so midnight may lie between.
    assert ahead.time.year == 9999
    assert tomorrow - timedelta(days=1) <= ahead.day <= tomorrow


def test_of_two_segments_that_contradict_each_other_one_is_taken_and_both_are_kept(
    ingested: Ingested,
) -> None:
    rows = ingested.place.rows
    events = rows("events", "gateway = 'contradicts' AND sequence = 1")
    assert [row.client_id for row in events] == ["a"]
    (refused,) = rows("quarantine", "gateway = 'contradicts'")
    assert (refused.kind, refused.reason, refused.sequence) == ("event", "conflict", 1)
    assert '"client_id":"b"' in refused.raw


def test_of_the_events_in_the_table_those_in_the_ranges_of_the_files_are_looked_at(
    spark: SparkSession,
) -> None:
    def file(gateway: str, first: int, last: int) -> SignedFile:
        return SignedFile("", "", "", gateway, 1, first, last, None)

    numbers = [(gateway, number) for gateway in ("a", "b", "c") for number in range(1, 7)]
    rows = spark.createDataFrame(numbers, "gateway string, sequence long").coalesce(1)

    def looked_at(ranges: Column) -> list[tuple[str, int]]:
        return sorted((row.gateway, row.sequence) for row in rows.where(ranges).collect())

    files = [file("a", 5, 5), file("a", 2, 3), file("b", 1, 1)]
    assert looked_at(ranges_of(files)) == [("a", 2), ("a", 3), ("a", 4), ("a", 5), ("b", 1)]
    assert looked_at(ranges_of([])) == []
    too_many = [file(f"other-{number}", 1, 1) for number in range(KEY_RANGES_MAX + 1)]
    assert looked_at(ranges_of(too_many)) == numbers
