"""The tables' columns: keys where Delta keeps statistics, and one table for two readers."""

from __future__ import annotations

import pytest

from cloud_jobs.tables.event_fields import EVENT_FIELDS
from cloud_jobs.tables.schemas import (
    EVENT_BODY,
    EVENTS,
    PARTITIONS,
    SEGMENT_PART,
    SEGMENTS,
    STAGED,
    TABLES,
    VERDICT,
)

STATISTICS_COLUMNS = 32
"""Of a file Delta keeps the least and the greatest value of so many columns."""

KEYS = {
    "segments": ("name", "state", "gateway", "batch"),
    "events": ("gateway", "boot", "sequence", "batch"),
    "sensor_readings": ("gateway", "identity", "batch"),
    "sessions": ("gateway", "store", "session"),
    "quarantine": ("batch", "kind"),
    "batches": ("batch",),
    "gateway_keys": ("gateway", "public_key"),
}


@pytest.mark.parametrize("table", TABLES)
def test_the_columns_by_which_files_are_skipped_are_among_the_first(table: str) -> None:
    assert set(KEYS[table]) <= set(TABLES[table].fieldNames()[:STATISTICS_COLUMNS])
    assert set(PARTITIONS.get(table, ())) <= set(TABLES[table].fieldNames())


@pytest.mark.parametrize("table", TABLES)
def test_no_column_stands_twice(table: str) -> None:
    names = TABLES[table].fieldNames()
    assert len(names) == len(set(names))


def test_every_field_of_an_event_has_a_column_of_its_type() -> None:
    types = {field.name: field.dataType for field in EVENTS}
    for field in EVENT_BODY:
        if field.name in EVENT_FIELDS:
            assert types[field.name] == field.dataType


def test_a_verdict_has_what_is_staged_of_a_segment() -> None:
    assert VERDICT.fieldNames() == [*SEGMENT_PART.fieldNames(), "rows"]
    assert STAGED.fieldNames()[: len(SEGMENT_PART)] == SEGMENT_PART.fieldNames()
    assert set(SEGMENT_PART.fieldNames()) <= set(SEGMENTS.fieldNames())
