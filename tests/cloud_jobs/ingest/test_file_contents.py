"""A file's records and outline are derived from its lines."""

from __future__ import annotations

from datetime import date
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql.pandas.types import to_arrow_schema

from cloud_jobs.ingest.file_contents import Contents, contents_of, day_of, outlined
from cloud_jobs.ingest.outline import FrameRange, Outline, SingleEvent, ranges_of
from cloud_jobs.ingest.segment_columns import verify_in_columns
from cloud_jobs.tables.schemas import RECORDS
from tests.contract.segments import (
    TIME_MS,
    Event,
    held,
    numbered,
    opened,
    payload_of,
    published,
    readings,
    released,
    sealed,
)

ARROW_RECORDS = to_arrow_schema(RECORDS, timezone="UTC")
OF_FILE = {
    "gateway": "gw-1",
    "store": "s",
    "boot": "b",
    "clock": "unknown",
    "day": date(2025, 1, 2),
}


def contents(events: list[Event]) -> Contents:
    made = sealed(numbered(events, 1), first_sequence=1)
    _, lines = verify_in_columns(made.name, made.content, len(made.content))
    assert lines is not None
    return contents_of(lines, OF_FILE)


def test_messages_that_are_whole_are_read_and_halves_are_kept() -> None:
    lone = payload_of(1.5, sequence=9)
    found = contents([opened(), *readings(2), held(3, lone), released(4), published(5, "no")])
    records = found.records.to_pylist()
    assert [(row["message"], row["value"], row["wrong"]) for row in records] == [
        (5, None, "the payload is not JSON"),
        (1, 20.125, None),
        (2, 20.25, None),
    ]
    assert {(row["gateway"], row["boot"], row["day"], row["clock"]) for row in records} == {
        ("gw-1", "b", date(2025, 1, 2), "unknown")
    }
    assert [row["sequence"] for row in records] == [8, 3, 5]
    outline = found.outline
    assert outline is not None
    assert (outline.good, outline.wrong, outline.by_message) == (2, 1, 0)
    assert (outline.messages, outline.boards) == (
        ((1, 2), (5, 5)),
        (FrameRange("board-0000002a", 3, 1, 2),),
    )
    first, second = outline.single_events
    topic = "sensors/board-0000002a/temperature"
    assert first == SingleEvent(
        True, 3, 6, (TIME_MS + 50) * 1000, topic, lone, None, "oncegate-bridge"
    )
    assert second == SingleEvent(False, 4, 7, (TIME_MS + 60) * 1000, None, None, None, None)


@pytest.mark.parametrize(
    "events",
    [
        [*readings(1), *readings(1)],
        [held(1, payload_of(1)), held(1, payload_of(1)), released(1)],
        [held(1, payload_of(1)), released(1), released(1)],
        [*readings(1), published(1, payload_of(1, sequence=2))],
        [published(1, payload_of(1)), released(1)],
        [{**published(1, payload_of(1)), "message": None}],
        [published(1, payload_of(1)), published(2, payload_of(1))],
    ],
)
def test_a_file_with_a_message_or_a_reading_twice_has_no_outline(events: list[Event]) -> None:
    assert contents(events).outline is None


def test_readings_without_numbers_are_counted_and_messages_without_contents_are_none() -> None:
    plain = '[{"n":"x","v":1},{"n":"x","v":2}]'
    found = contents([published(1, plain), {**published(2, plain), "payload": None}])
    assert found.outline is not None
    assert (found.outline.good, found.outline.by_message) == (2, 2)
    assert (found.outline.messages, found.outline.boards) == (((1, 2),), ())


_numbers = st.integers(0, 6) | st.none() | st.sampled_from([-(2**63), 2**63 - 1])
_records = st.fixed_dictionaries(
    {
        "senml_device": st.sampled_from(["a", "b", None]),
        "senml_boot": st.sampled_from([0, 1, None]),
        "senml_sequence": _numbers,
        "name": st.sampled_from(["x", "y"]),
        "position": st.integers(0, 1),
        "wrong": st.sampled_from([None, None, None, "refused"]),
    }
)


@given(st.lists(_records, max_size=12), st.sets(st.integers(0, 9)))
def test_an_outline_counts_records_and_has_each_frame_once(
    records: list[dict[str, Any]], messages: set[int]
) -> None:
    names = ("senml_device", "senml_boot", "senml_sequence", "name", "position")
    good = [tuple(row[name] for name in names) for row in records if row["wrong"] is None]
    numbered = [row for row in good if None not in row[:3]]
    frames: dict[tuple[str, int], set[int]] = {}
    for device, boot, sequence, *_ in numbered:
        frames.setdefault((device, boot), set()).add(sequence)
    expected = Outline(
        good=len(good),
        wrong=len(records) - len(good),
        by_message=len(good) - len(numbered),
        messages=tuple(ranges_of(messages)),
        boards=tuple(
            FrameRange(*board, *run) for board, one in frames.items() for run in ranges_of(one)
        ),
    )
    batch = pa.RecordBatch.from_pylist(records, ARROW_RECORDS)
    found = outlined(batch, [*messages])
    assert found == (expected if len({*numbered}) == len(numbered) else None)


def test_the_day_is_that_of_the_first_event() -> None:
    assert day_of(86_400_000 - 1) == date(1970, 1, 1)
    assert day_of(TIME_MS) == date(2025, 11, 21)
