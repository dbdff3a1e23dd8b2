"""Staging of a batch: each file is read and verified once, and is stored as one row.

The bytes are verified in Python, file by file, because Spark has no functions that check a zstd
checksum, hash the lines and limit the memory. A worker processes one segment at a time, parses its
lines together and stores them as columns (Arrow streams). No later step parses the lines again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from cloud_jobs.ingest.file_contents import EPOCH, contents_of, day_of
from cloud_jobs.ingest.landed_file import name_of
from cloud_jobs.ingest.outline import text_of
from cloud_jobs.ingest.segment_columns import verify_in_columns
from cloud_jobs.ingest.segment_file import MORE, Header, Line
from cloud_jobs.ingest.trust import folder_of
from cloud_jobs.limits import DAY_MIN
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.schemas import STAGED

ARROW_STAGED: Final = to_arrow_schema(STAGED, timezone="UTC")
_DAY_MILLISECONDS: Final = 86_400_000

Batches = Iterator[pa.RecordBatch]


def stage(tables: Tables, name: str, files: DataFrame, source: str = "") -> bool:
    """Read and verify files, each once, and create the staging table (STAGED) in one commit.

    Return False if the table exists because another run created it.

    Args:
        tables: the tables. The new table is created below their root.
        name: name of the new table.
        files: path, length and content of each file (landing.contents_of).
        source: the directory or URL that was listed. Folders of files are relative to it.
    """
    rows = files.mapInArrow(judging(source), STAGED)
    try:
        # Mode `error`: the first commit of a table succeeds for only one writer.
        writer = rows.write.format("delta").mode("error")
        # The whole table is read, so statistics of columns would be useless.
        writer.option("delta.dataSkippingNumIndexedCols", "0").save(tables.path(name))
    except AnalysisException:
        if not tables.has(name):
            raise
        return False
    return True


def judging(source: str) -> Callable[[Batches], Batches]:
    """Return a function that converts rows of path, length and content to staged rows.

    The function yields an Arrow batch with the schema STAGED and one row for each file.
    """

    def judge(batches: Batches) -> Batches:
        for batch in batches:
            for path, length, content in zip(*batch.columns, strict=True):
                row = _row_of(path.as_py(), length.as_py(), content.as_py(), source)
                yield pa.RecordBatch.from_pylist([row], ARROW_STAGED)

    return judge


def _row_of(path: str, length: int, content: bytes | None, source: str) -> dict[str, Any]:
    """Verify one file and return its row of the schema STAGED."""
    verdict, events = verify_in_columns(name_of(path), content, length)
    header, claimed = verdict.header, verdict.claimed
    # The origin of an untrusted file is known only from its name.
    known = header or claimed
    columns = events_part(events)
    if header is not None:
        columns |= _contents_part(events, header, columns["began"])
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
        **columns,
    }


def malformed_part(lines: list[Line]) -> list[dict[str, Any]] | None:
    """Return malformed lines in the format of the column `malformed`."""
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
    """Convert valid lines to the values of the columns `began`, `fields` and `events`."""
    if events is None or events.num_rows == 0:
        return {"began": None, "fields": None, "events": None}
    began = pc.min(events.column("time")).as_py()
    filled = _without_nulls(events)
    return {
        "began": _within_days(began),
        "fields": filled.schema.names,
        "events": _stream_of(filled),
    }


def _contents_part(
    events: pa.RecordBatch | None, header: Header, began: int | None
) -> dict[str, Any]:
    """Derive the columns `records` and `outline` (a summary) of a staged file from its events."""
    if events is None or began is None:
        return {"records": None, "outline": None}
    of_file = {name: getattr(header, name) for name in ("gateway", "store", "boot", "clock")}
    found = contents_of(events, of_file | {"day": day_of(began)})
    outline = None if found.outline is None else text_of(found.outline)
    return {
        "records": _stream_of(_without_nulls(found.records)) if found.records.num_rows else None,
        "outline": outline,
    }


def _within_days(milliseconds: int) -> int:
    """Move a time that is too early or too late to the nearest valid day.

    Days are partitions of the tables, and a wrong clock can show any year.
    """
    today = datetime.now(UTC).date()
    first, last = ((day - EPOCH).days for day in (DAY_MIN, today + timedelta(days=1)))
    return min(max(milliseconds, first * _DAY_MILLISECONDS), last * _DAY_MILLISECONDS)


def _refusals_of(line: Line) -> int:
    return int(line.body or 0) if line.reason == MORE else 1


def _without_nulls(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Remove the columns that are null in every row."""
    kept = [name for name in rows.schema.names if rows.column(name).null_count < len(rows)]
    return rows.select(kept)


def _stream_of(rows: pa.RecordBatch) -> bytes:
    """Return rows as an Arrow stream."""
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, rows.schema, options=options) as stream:
        stream.write_batch(rows)
    content: bytes = sink.getvalue().to_pybytes()
    return content
