"""Segments as the staged files of a batch, without a landing directory."""

from __future__ import annotations

import pyarrow as pa

from cloud_jobs.ingest.staged import Staged, staged_files
from cloud_jobs.ingest.staging import judging, stage
from cloud_jobs.tables.delta_tables import Tables
from tests.contract.segments import Segment

INPUT = pa.schema([("path", pa.string()), ("length", pa.int64()), ("content", pa.binary())])
SOURCE = "/landed"


def landed(*segments: Segment) -> pa.Table:
    """Return path, length and content of the segments' files in the folder `gw`."""
    rows = [
        {"path": f"file:{SOURCE}/gw/{one.name}", "length": len(one.content), "content": one.content}
        for one in segments
    ]
    return pa.Table.from_pylist(rows, INPUT)


def staged_rows(*segments: Segment) -> list[pa.RecordBatch]:
    """Return one row of STAGED per segment."""
    return list(judging(SOURCE)(iter(landed(*segments).to_batches())))


def staged_table(tables: Tables, *segments: Segment, name: str = "_staging/00000001") -> Staged:
    """Return the staged rows as a table."""
    assert stage(tables, name, tables.spark.createDataFrame(landed(*segments)), SOURCE)
    return staged_files(tables, name)
