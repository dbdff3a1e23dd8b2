"""A batch's files, read and judged once: one row a file, its events as an Arrow stream.

The bytes are judged by Python, file by file: a zstd frame with a checksum to enforce, a hash over
the lines and a bound on memory have no built-in function of Spark. A worker has one segment at a
time, parses its lines as a whole and keeps them as columns; nothing parses them again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from cloud_jobs.ingest.landing import Landed, binary_files
from cloud_jobs.ingest.segment_columns import verify_in_columns
from cloud_jobs.ingest.segment_file import MORE, Line
from cloud_jobs.ingest.trust import folder_of
from cloud_jobs.limits import DAY_MIN, SEGMENT_FILE_BYTES_MAX
from cloud_jobs.tables.schemas import EVENTS, STAGED

ARROW_STAGED: Final = to_arrow_schema(STAGED, timezone="UTC")
_EVENTS: Final = to_arrow_schema(EVENTS, timezone="UTC")
_EPOCH: Final = date(1970, 1, 1)
_DAY_MILLISECONDS: Final = 86_400_000
_CONSTANTS: Final = ("gateway", "boot", "store", "clock", "segment")
"""Columns of an event that its file has too, under the same name."""

Batches = Iterator[pa.RecordBatch]


def read_and_verify(spark: SparkSession, files: list[Landed], source: str = "") -> DataFrame:
    """Return the rows of STAGED of these files: each is read once, and judged by its bytes.

    ``source`` is what was listed: the folder of a file is relative to it.
    """
    small = [file.path for file in files if 0 < file.file_bytes <= SEGMENT_FILE_BYTES_MAX]
    # Not read: what is too large has no contents here, and what is empty has none anywhere.
    unread = [file for file in files if not 0 < file.file_bytes <= SEGMENT_FILE_BYTES_MAX]
    columns = "path string, length long, content binary"
    contents = None
    if small:
        contents = binary_files(spark, small).select("path", "length", "content")
    if unread or contents is None:
        rows = [(file.path, file.file_bytes, None if file.file_bytes else b"") for file in unread]
        others = spark.createDataFrame(rows, columns)
        contents = others if contents is None else contents.unionByName(others)
    return contents.mapInArrow(judging(source), STAGED)


def judging(source: str) -> Callable[[Batches], Batches]:
    """Return what turns rows of path, length and content into rows of STAGED, one a batch."""

    def judge(batches: Batches) -> Batches:
        for batch in batches:
            for path, length, content in zip(*batch.columns, strict=True):
                row = _row_of(path.as_py(), length.as_py(), content.as_py(), source)
                yield pa.RecordBatch.from_pylist([row], ARROW_STAGED)

    return judge


def _row_of(path: str, length: int, content: bytes | None, source: str) -> dict[str, Any]:
    """Judge one file, as a row of STAGED."""
    verdict, events = verify_in_columns(path.rsplit("/", 1)[-1], content, length)
    header, claimed = verdict.header, verdict.claimed
    # Where an untrusted file belongs is known from its own name only.
    known = header or claimed
    return {
        "path": path,
        "name": verdict.name,
        "file_bytes": verdict.file_bytes,
        "file_sha256": verdict.file_sha256,
        "uncompressed_bytes": verdict.uncompressed_bytes,
        "gateway": known.gateway if known else None,
        "boot": known.boot if known else None,
        "store": header.store if header else None,
        "segment": known.segment if known else None,
        "first_sequence": claimed.first_sequence if claimed else None,
        "last_sequence": claimed.last_sequence if claimed else None,
        "clock": header.clock if header else None,
        "previous_sha256": header.previous_sha256 if header else None,
        "lines": (0 if events is None else events.num_rows) + verdict.bad_lines,
        "bad_lines": verdict.bad_lines,
        "folder": folder_of(path, source),
        "public_key": verdict.public_key,
        "reason": verdict.reason,
        "detail": verdict.detail,
        "malformed": malformed_part(verdict.lines),
        **events_part(events),
    }


def malformed_part(lines: list[Line]) -> list[dict[str, Any]] | None:
    """Return malformed lines as a file's column `malformed`."""
    found = [
        {
            "line": line.number,
            "sequence": line.sequence,
            "reason": line.reason,
            "detail": line.detail,
            "raw": line.raw,
            "refused": _refusals_of(line),
        }
        for line in lines
    ]
    return found or None


def events_part(events: pa.RecordBatch | None) -> dict[str, Any]:
    """Return good lines as the columns `began` and `events` of a file."""
    if events is None or events.num_rows == 0:
        return {"began": None, "events": None}
    began = pc.min(events.column("time")).as_py()
    return {"began": _within_days(began), "events": _stream_of(events)}


def _within_days(milliseconds: int) -> int:
    """Return a time within the days that make partitions: a clock may show any year."""
    today = datetime.now(UTC).date()
    first, last = ((day - _EPOCH).days for day in (DAY_MIN, today + timedelta(days=1)))
    return min(max(milliseconds, first * _DAY_MILLISECONDS), last * _DAY_MILLISECONDS)


def _refusals_of(line: Line) -> int:
    return int(line.body or 0) if line.reason == MORE else 1


def _stream_of(events: pa.RecordBatch) -> bytes:
    """Return columns as an Arrow stream, without those that are null in every row."""
    kept = [name for name in events.schema.names if events.column(name).null_count < len(events)]
    chosen = events.select(kept)
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, chosen.schema, options=options) as stream:
        stream.write_batch(chosen)
    content: bytes = sink.getvalue().to_pybytes()
    return content


def events_of(staged: DataFrame, batch: int) -> DataFrame:
    """Select the good lines of staged files as rows of `events`; an identity may occur twice."""
    columns = ("name", "began", *_CONSTANTS, "events")
    return staged.where("events IS NOT NULL").select(*columns).mapInArrow(unpacking(batch), EVENTS)


def unpacking(batch_number: int) -> Callable[[Batches], Batches]:
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
        "day": _EPOCH + timedelta(milliseconds=file["began"]),
    }
    columns = []
    for field in _EVENTS:
        if field.name in constants:
            value = pa.scalar(constants[field.name], field.type)
            columns.append(pa.repeat(value, lines.num_rows))
        elif field.name not in lines.schema.names:
            columns.append(pa.nulls(lines.num_rows, field.type))
        elif field.name == "time":
            microseconds = pc.multiply(lines.column("time"), 1000)
            columns.append(microseconds.cast(field.type))
        else:
            columns.append(lines.column(field.name))
    return pa.record_batch(columns, _EVENTS)
