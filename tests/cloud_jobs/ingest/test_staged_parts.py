"""Workers read of a staging table what is theirs, a group of rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from cloud_jobs.errors import IngestError
from cloud_jobs.ingest.staged_parts import parts_of, reading
from cloud_jobs.ingest.staging import ARROW_STAGED
from cloud_jobs.tables import adding
from cloud_jobs.tables.data_files import written_plain
from tests.cloud_jobs.staged_files import staged_rows
from tests.contract.segments import Segment, numbered, opened, readings, sealed

SEGMENTS = [
    sealed(numbered([opened(), *readings(2)], 1), first_sequence=1),
    sealed(numbered([opened()], 20), first_sequence=20, segment=2),
    sealed(numbered(readings(1), 30), first_sequence=30, segment=3, gateway="gw-2"),
]
CUT = Segment(SEGMENTS[0].name, b"wrong")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A table of four files, each a group of its own."""
    rows = staged_rows(*SEGMENTS, CUT)
    made = pa.Table.from_batches(written_plain(tmp_path / "t", ARROW_STAGED, rows, group_bytes=1))
    assert adding.make(str(tmp_path / "t"), ARROW_STAGED, made.to_pylist())
    return tmp_path / "t"


def read(folder: Path, content: str, refused: set[str], left_out: set[str]) -> list[dict[str, Any]]:
    transform = reading(["segment", "name"], content, frozenset(refused), frozenset(left_out))
    parts: Iterator[pa.RecordBatch] = iter(pa.Table.from_pylist(parts_of(folder)).to_batches())
    return [row for batch in transform(parts) for row in batch.to_pylist()]


def test_each_group_is_a_part_and_files_without_the_content_have_no_row(folder: Path) -> None:
    assert [part["part"] for part in parts_of(folder)] == [0, 1, 2, 3]
    events = read(folder, "events", set(), set())
    assert [(row["segment"], row["name"]) for row in events] == [
        (one + 1, segment.name) for one, segment in enumerate(SEGMENTS)
    ]
    assert all(row["events"] for row in events)
    assert [row["segment"] for row in read(folder, "records", set(), set())] == [1, 3]


def test_refused_files_and_gateways_that_are_left_out_have_no_row(folder: Path) -> None:
    paths = {f"file:/landed/gw/{segment.name}" for segment in SEGMENTS[:1]}
    assert [row["segment"] for row in read(folder, "events", paths, set())] == [2, 3]
    assert [row["segment"] for row in read(folder, "events", set(), {"gw-2", "gw-3"})] == [1, 2]
    assert read(folder, "events", paths, {"gw-1", "gw-2"}) == []


def test_a_table_that_another_run_has_swept_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(IngestError, match="another run has finished its batch"):
        parts_of(tmp_path / "none")
