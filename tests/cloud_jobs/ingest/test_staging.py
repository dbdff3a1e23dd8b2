"""A file is one staged row, from which its rows of `events` are restored unchanged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from cloud_jobs.ingest.staging import ARROW_STAGED
from cloud_jobs.ingest.unpacking import EVENT_PARTS, unpacking_events
from tests.cloud_jobs.staged_files import staged_rows
from tests.contract.segments import TIME_MS, Event, Segment, numbered, opened, readings, sealed


def events_of(batches: list[pa.RecordBatch]) -> Iterator[dict[str, Any]]:
    columns = (*EVENT_PARTS, "events")
    for batch in unpacking_events(7)(iter(batch.select(columns) for batch in batches)):
        yield from batch.to_pylist()


def test_files_are_judged_one_by_one_and_their_events_are_restored_with_the_header_s_fields() -> (
    None
):
    first = sealed(numbered([opened(), *readings(2)], 1), first_sequence=1)
    second = sealed(numbered(readings(1), 6), first_sequence=6, segment=2, clock="unknown")
    batches = staged_rows(first, second)
    assert [batch.num_rows for batch in batches] == [1, 1]
    assert all(batch.schema == ARROW_STAGED for batch in batches)
    rows = [batch.to_pylist()[0] for batch in batches]
    assert [(row["name"], row["folder"], row["lines"]) for row in rows] == [
        (first.name, "gw", 5),
        (second.name, "gw", 2),
    ]
    found = list(events_of(batches))
    assert [(row["sequence"], row["line"]) for row in found] == [
        *((n, n + 1) for n in range(1, 6)),
        *((n, n - 4) for n in range(6, 8)),
    ]
    assert "matched" in rows[0]["fields"]
    assert "port" not in rows[0]["fields"]
    assert {(row["gateway"], row["batch"], row["day"].isoformat()) for row in found} == {
        ("gw-1", 7, "2025-11-21")
    }
    assert [row["clock"] for row in found] == ["synchronised"] * 5 + ["unknown"] * 2
    assert found[0]["time"].timestamp() == TIME_MS / 1000
    assert (found[0]["client_id"], found[0]["matched"], found[2]["matched"]) == (
        "oncegate-bridge",
        None,
        1,
    )


def test_a_refused_file_has_no_events_and_a_malformed_line_stands_beside_them() -> None:
    lines: list[Event | bytes] = [b"{}\n", *numbered([opened()], 2)]
    odd = sealed(lines, first_sequence=1)
    cut = Segment(odd.name, odd.content[:-1])
    good, bad = (batch.to_pylist()[0] for batch in staged_rows(odd, cut))
    assert (bad["reason"], bad["events"], bad["malformed"], bad["began"]) == ("cut", *[None] * 3)
    (line,) = good["malformed"]
    assert (line["line"], line["sequence"], line["reason"], line["refused"]) == (
        2,
        1,
        "bad_field",
        1,
    )
    assert (good["lines"], good["bad_lines"]) == (2, 1)
    assert [row["sequence"] for row in events_of(staged_rows(odd))] == [2]


def test_a_file_of_malformed_lines_only_has_no_events() -> None:
    (row,) = staged_rows(sealed([b"{}\n"], first_sequence=1))[0].to_pylist()
    assert (row["reason"], row["events"], row["lines"]) == (None, None, 1)
