"""Segments as a batch's staged files, without a landing directory and without Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from cloud_jobs.ingest.staged import Staged, staged_files
from cloud_jobs.ingest.staging import ARROW_STAGED, judging
from cloud_jobs.tables import adding
from cloud_jobs.tables.data_files import written_plain
from cloud_jobs.tables.delta_tables import Tables
from tests.contract.segments import Segment

INPUT = pa.schema([("path", pa.string()), ("length", pa.int64()), ("content", pa.binary())])
SOURCE = "/landed"


def staged_rows(*segments: Segment) -> list[pa.RecordBatch]:
    """One row of STAGED a batch, of files in the folder `gw`."""
    rows = [
        {"path": f"file:{SOURCE}/gw/{one.name}", "length": len(one.content), "content": one.content}
        for one in segments
    ]
    return list(judging(SOURCE)(iter([pa.RecordBatch.from_pylist(rows, INPUT)])))


def staged_table(tables: Tables, *segments: Segment, name: str = "_staging/00000001") -> Staged:
    """The same rows, staged."""
    path = tables.path(name)
    made = pa.Table.from_batches(written_plain(Path(path), ARROW_STAGED, staged_rows(*segments)))
    assert adding.make(path, ARROW_STAGED, made.to_pylist())
    return staged_files(tables, name)
