"""The tables' columns: keys get Delta's statistics, and two readers share a schema."""

from __future__ import annotations

import pytest

from cloud_jobs.tables.event_fields import EVENT_FIELDS
from cloud_jobs.tables.schemas import (
    EVENTS,
    PARTITIONS,
    SEGMENT_PART,
    SEGMENTS,
    STAGED,
    TABLES,
)

STATISTICS_COLUMNS = 32
"""Delta keeps minimum and maximum values per file for this many columns, counted from the first."""

KEYS = {
    "segments": ("name", "state", "gateway", "batch"),
    "events": ("gateway", "boot", "sequence", "batch"),
    "sensor_readings": ("gateway", "identity", "batch"),
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
    types = {field.name: field.dataType.simpleString() for field in EVENTS}
    named = {"integer": "bigint", "string": "string", "boolean": "boolean"}
    for name, kind in EVENT_FIELDS.items():
        assert types[name] == named[kind]


def test_what_is_staged_of_a_segment_stands_in_its_table_too() -> None:
    assert set(SEGMENT_PART.fieldNames()) <= set(STAGED.fieldNames())
    assert set(SEGMENT_PART.fieldNames()) <= set(SEGMENTS.fieldNames())
