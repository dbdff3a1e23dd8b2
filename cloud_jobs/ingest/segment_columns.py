"""Fast parser that converts the lines of a trusted segment to Arrow columns.

It uses Arrow's JSON parser, which creates no Python objects for the lines. The lines must have the
form in which a gateway writes them: one object per line, fields of the right types, and consecutive
sequence numbers. If a single line differs, for example because it is malformed or has a field of a
later version, all lines of the segment are parsed one by one (`cloud_jobs.ingest.segment_file`).
Both parsers return the same result for a valid line.
"""

from __future__ import annotations

import json
import re
from contextlib import suppress
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from cloud_jobs.ingest.numbering import counted
from cloud_jobs.ingest.segment_file import Line, Verdict, judge_lines, verify
from cloud_jobs.limits import LINE_BYTES_MAX, TIME_MILLISECONDS_MAX
from cloud_jobs.tables.event_fields import EVENT_FIELDS

_ARROW_TYPES: Final = {"integer": pa.int64(), "string": pa.string(), "boolean": pa.bool_()}
_OWN: Final = ("sequence", "time", "event")
FIELDS: Final = pa.schema(
    [
        ("sequence", pa.int64()),
        ("time", pa.int64()),
        ("event", pa.string()),
        *((name, _ARROW_TYPES[kind]) for name, kind in EVENT_FIELDS.items()),
    ]
)
"""Fields that a line may have."""

LINES: Final = pa.schema([*FIELDS, ("extra", pa.string()), ("line", pa.int64())])
"""Columns of the parsed lines. `line` is the line number in the file; the header is line 1."""

_FIRST_PART_BYTES: Final = 64 * 1024
"""Minimum bytes of lines in the first part, which shows what fields occur. A column for a field
that does not occur costs as much as any other."""
_PART_BYTES: Final = 1024 * 1024
"""Bytes of lines in each later part. A part is parsed again if a new field occurs."""
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


def verify_in_columns(
    name: str, content: bytes | None, file_bytes: int
) -> tuple[Verdict, pa.RecordBatch | None]:
    """Verify a segment file. Return the verdict, and the valid lines as columns (LINES).

    The verdict is that of `segment_file.verify`, but contains only the malformed lines. If the
    segment is not trusted, the columns are None.
    """
    found: list[pa.RecordBatch] = []

    def judge(verdict: Verdict, events: bytes, sequences: range) -> None:
        columns = columns_of(events, sequences)
        if columns is None:
            judge_lines(verdict, events, sequences)
            good = [line for line in verdict.lines if line.reason is None]
            verdict.lines = [line for line in verdict.lines if line.reason is not None]
            columns = columns_of_lines(good)
        found.append(columns)

    verdict = verify(name, content, file_bytes, judge)
    return verdict, found[0] if found and verdict.reason is None else None


def columns_of(events: bytes, sequences: range) -> pa.RecordBatch | None:
    """Parse all event lines of a segment together, or return None if they need the slower parser.

    `sequences` are the expected sequence numbers, one for each line.
    """
    count = len(sequences)
    if not _is_one_object_a_line(events, count):
        return None
    try:
        if not events.isascii():
            events.decode()
        table = _parsed(events)
    except (pa.ArrowException, UnicodeDecodeError):
        return None
    if table.num_rows != count or any(table.column(name).null_count for name in _OWN):
        return None
    expected = counted(count, sequences.start)
    times = pc.min_max(table.column("time")).as_py()
    if not table.column("sequence").combine_chunks().equals(expected):
        return None
    if times["min"] < 0 or times["max"] > TIME_MILLISECONDS_MAX:
        return None
    numbers = pc.add(expected, 2 - sequences.start)
    columns = [table.column(name).combine_chunks() for name in FIELDS.names]
    return pa.record_batch([*columns, pa.nulls(count, pa.string()), numbers], LINES)


def _parsed(events: bytes) -> pa.Table:
    """Parse lines with Arrow, in parts if there are many.

    Raises ArrowException if a line is invalid.
    """
    if len(events) <= _FIRST_PART_BYTES:
        return _parse(pa.py_buffer(events), FIELDS.names)
    known: list[str] = []
    parts: list[pa.Table] = []
    start = 0
    while start < len(events):
        size = _PART_BYTES if parts else _FIRST_PART_BYTES
        end = events.find(b"\n", start + size) + 1 or len(events)
        table, known = _part_of(pa.py_buffer(events).slice(start, end - start), known)
        parts.append(table)
        start = end
    table = pa.concat_tables(parts, promote_options="default")
    for field in FIELDS:
        if field.name not in known:
            table = table.append_column(field, pa.nulls(len(table), field.type))
    return table


def _part_of(lines: pa.Buffer, known: list[str]) -> tuple[pa.Table, list[str]]:
    """Parse some lines of a segment. Return the table, and the names of all fields found so far.

    `known` are the fields found in earlier lines. Parsing only these fields is faster. If the lines
    contain other fields, or `known` is empty, the lines are parsed with all fields of the format.
    """
    if known:
        with suppress(pa.ArrowException):
            return _parse(lines, known), known
    table = _parse(lines, FIELDS.names)
    here = {name for name in FIELDS.names if table.column(name).null_count < len(table)}
    known = [name for name in FIELDS.names if name in here or name in known]
    return table.select(known), known


def _parse(lines: pa.Buffer, names: list[str]) -> pa.Table:
    return arrow_json.read_json(
        pa.BufferReader(lines),
        arrow_json.ReadOptions(use_threads=False, block_size=lines.size + 1),
        arrow_json.ParseOptions(
            explicit_schema=pa.schema([FIELDS.field(name) for name in names]),
            newlines_in_values=False,
            unexpected_field_behavior="error",
        ),
    )


def _is_one_object_a_line(events: bytes, count: int) -> bool:
    """Return True if each line begins and ends like an object, and no line is too long.

    Even so, a line might contain two objects, or an object might span two lines. To exclude this,
    the caller compares the number of parsed rows with the number of lines.
    """
    if not (events.startswith(b"{") and events.endswith(b"}\n")):
        return False
    if events.count(b"}\n{") != count - 1 or _SURROGATE.search(events):
        return False
    start = 0
    while len(events) - start > LINE_BYTES_MAX:
        end = events.rfind(b"\n", start, start + LINE_BYTES_MAX + 1)
        if end < start:
            return False
        start = end + 1
    return True


def columns_of_lines(lines: list[Line]) -> pa.RecordBatch:
    """Convert valid lines, which were parsed one by one, to columns (LINES)."""
    values = [json.loads(line.body or "") for line in lines]
    columns = [
        pa.array([value.get(field.name) for value in values], field.type) for field in FIELDS
    ]
    extra = pa.array([line.extra for line in lines], pa.string())
    numbers = pa.array([line.number for line in lines], pa.int64())
    return pa.record_batch([*columns, extra, numbers], LINES)
