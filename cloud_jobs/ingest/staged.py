"""The rows that a batch's staged files have, of each table: for Spark, or as data files of a table.

A worker unpacks the Arrow streams that one has written (cloud_jobs.ingest.staging), file by file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from cloud_jobs.ingest.file_contents import day_of
from cloud_jobs.ingest.reading_columns import ARROW_READINGS, reading_columns
from cloud_jobs.ingest.session_parts import PARTS
from cloud_jobs.tables.data_files import ADDED, written
from cloud_jobs.tables.schemas import EVENTS, RECORDS

_EVENTS: Final = to_arrow_schema(EVENTS, timezone="UTC")
_CONSTANTS: Final = ("gateway", "boot", "store", "clock", "segment")
"""Columns of an event that its file has too, under the same name."""

Batches = Iterator[pa.RecordBatch]
Mapped = Callable[[Batches], Batches]


def events_of(staged: DataFrame, batch: int) -> DataFrame:
    """Select the good lines of staged files as rows of `events`; an identity may occur twice."""
    return _with_events(staged).mapInArrow(unpacking_events(batch), EVENTS)


def event_files_of(staged: DataFrame, batch: int, folder: Path) -> DataFrame:
    """Have workers write those rows as data files below the folder of `events`: when the rows
    (ADDED) are asked for, and as often as they are."""
    unpack = unpacking_events(batch)
    return _with_events(staged).mapInArrow(lambda b: written(folder, _EVENTS, unpack(b)), ADDED)


def _with_events(staged: DataFrame) -> DataFrame:
    return _with(staged, "events").select("name", "began", *_CONSTANTS, "events")


def _with(staged: DataFrame, column: str) -> DataFrame:
    return staged.where(f"{column} IS NOT NULL")


def unpacking_events(batch_number: int) -> Mapped:
    """Return what turns files into their rows of `events`, one file a batch."""

    def unpack(batches: Batches) -> Batches:
        for batch in batches:
            for row in batch.to_pylist():
                yield _events_of_file(row, batch_number)

    return unpack


def _events_of_file(file: dict[str, Any], batch_number: int) -> pa.RecordBatch:
    with pa.ipc.open_stream(file["events"]) as stream:
        lines = stream.read_next_batch()
    constants = {name: file[name] for name in _CONSTANTS} | {
        "segment_name": file["name"],
        "batch": batch_number,
        "day": day_of(file["began"]),
    }
    found = {name: lines.column(name) for name in lines.schema.names}
    found["time"] = pc.multiply(found["time"], 1000).cast(_EVENTS.field("time").type)
    for name, value in constants.items():
        found[name] = pa.repeat(pa.scalar(value, _EVENTS.field(name).type), lines.num_rows)
    return _complete(found, lines.num_rows, _EVENTS)


def _complete(found: Mapping[str, pa.Array], rows: int, schema: pa.Schema) -> pa.RecordBatch:
    """Return columns in the order of a schema, null where one was left out of a stream."""
    columns = [found.get(field.name, None) for field in schema]
    made = [
        pa.nulls(rows, field.type) if column is None else column
        for column, field in zip(columns, schema, strict=True)
    ]
    return pa.record_batch(made, schema)


def sessions_of(staged: DataFrame) -> DataFrame:
    """Select what staged files say about sessions, as rows of PARTS."""
    return _streams_of(staged, "sessions", PARTS)


def records_of(staged: DataFrame) -> DataFrame:
    """Select the SenML records of the messages that staged files have whole."""
    return _streams_of(staged, "records", RECORDS)


def reading_files_of(
    staged: DataFrame, paired: pa.RecordBatch, batch: int, folder: Path
) -> DataFrame:
    """Have workers write the readings of staged files, and of ``paired`` records, as data files
    below the folder of `sensor_readings`: when the rows (ADDED) are asked for."""
    unpack = _unpacking(RECORDS)

    def write(records: Batches) -> Batches:
        return written(folder, ARROW_READINGS, (reading_columns(one, batch) for one in records))

    made = _with(staged, "records").select("records").mapInArrow(lambda b: write(unpack(b)), ADDED)
    if paired.num_rows:
        rows = paired_of(staged.sparkSession, paired)
        made = made.unionByName(rows.mapInArrow(write, ADDED))
    return made


def paired_of(spark: SparkSession, paired: pa.RecordBatch) -> DataFrame:
    """Return the records that the driver has put together of two files (split.Split) for Spark."""
    return spark.createDataFrame(pa.Table.from_batches([paired]), RECORDS)


def _streams_of(staged: DataFrame, column: str, schema: StructType) -> DataFrame:
    return _with(staged, column).select(column).mapInArrow(_unpacking(schema), schema)


def _unpacking(schema: StructType) -> Mapped:
    """Return what turns rows of one column, with Arrow streams, into the rows that these have."""
    arrow = to_arrow_schema(schema, timezone="UTC")

    def unpack(batches: Batches) -> Batches:
        for batch in batches:
            for content in batch.column(0).to_pylist():
                with pa.ipc.open_stream(content) as stream:
                    rows = stream.read_next_batch()
                found = {name: rows.column(name) for name in rows.schema.names}
                yield _complete(found, rows.num_rows, arrow)

    return unpack
