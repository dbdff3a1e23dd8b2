"""Converts the Arrow streams in staged files to rows of the tables.

The rows of each file are one Arrow batch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from cloud_jobs.ingest.file_contents import day_of
from cloud_jobs.tables.schemas import EVENTS

_CONSTANTS: Final = ("gateway", "boot", "store", "clock", "segment")
"""Columns of an event that have the same name and value for its whole file."""
EVENT_PARTS: Final = ("name", "began", *_CONSTANTS)
"""The columns of a staged file that its events need in addition to their own."""
EVENT_CONSTANTS: Final = (*_CONSTANTS, "segment_name", "batch", "day")
"""Columns of `events` that have the same value for a whole file, and are never null."""

Batches = Iterator[pa.RecordBatch]
Mapped = Callable[[Batches], Batches]


def unpacking_events(batch_number: int, columns: StructType = EVENTS) -> Mapped:
    """Return a function that unpacks staged files into rows of the table `events`.

    Each input row is a staged file. It has the columns EVENT_PARTS, and a column `events` that
    contains the file's events as an Arrow stream. `batch_number` is the value of the column `batch`
    in the returned rows, and `columns` is the schema of these rows.
    """
    arrow = to_arrow_schema(columns, timezone="UTC")

    def unpack(batches: Batches) -> Batches:
        for batch in batches:
            for row in batch.to_pylist():
                yield _events_of_file(row, batch_number, arrow)

    return unpack


def _events_of_file(file: dict[str, Any], batch_number: int, arrow: pa.Schema) -> pa.RecordBatch:
    with pa.ipc.open_stream(file["events"]) as stream:
        lines = stream.read_next_batch()
    constants = {name: file[name] for name in _CONSTANTS} | {
        "segment_name": file["name"],
        "batch": batch_number,
        "day": day_of(file["began"]),
    }
    found = {name: lines.column(name) for name in lines.schema.names}
    found["time"] = pc.multiply(found["time"], 1000).cast(arrow.field("time").type)
    for name in {*constants} & {*arrow.names}:
        value = pa.scalar(constants[name], arrow.field(name).type)
        found[name] = pa.repeat(value, lines.num_rows)
    return _complete(found, lines.num_rows, arrow)


def _complete(found: Mapping[str, pa.Array], rows: int, schema: pa.Schema) -> pa.RecordBatch:
    """Return columns in the order of a schema. Missing columns are filled with null."""
    columns = [found.get(field.name, None) for field in schema]
    made = [
        pa.nulls(rows, field.type) if column is None else column
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.record_batch(made, schema)


def unpacking(schema: StructType) -> Mapped:
    """Return a function that converts a column of Arrow streams to the rows in these streams."""
    arrow = to_arrow_schema(schema, timezone="UTC")

    def unpack(batches: Batches) -> Batches:
        for batch in batches:
            for content in batch.column(0).to_pylist():
                with pa.ipc.open_stream(content) as stream:
                    rows = stream.read_next_batch()
                found = {name: rows.column(name) for name in rows.schema.names}
                yield _complete(found, rows.num_rows, arrow)

    return unpack
