"""The lines of a trusted segment as Arrow columns, parsed as a whole.

Arrow's parser reads all lines together and makes no Python object of any. It is believed where the
lines are what a gateway writes: one object a line, fields of the contract with their types, and the
sequence without a gap. Whatever else it meets (a malformed line, a field of a later version, a
leap) is judged line by line instead (`cloud_jobs.ingest.segment_file`), with the same result for
each line that both can read.
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
"""Outcome of a line: `line` counts from 1 with the header."""

_FIRST_PART_BYTES: Final = 64 * 1024
"""Bytes of lines, at least, from which the occurring fields are determined: a field of the contract
that does not occur costs as much as one that does."""
_PART_BYTES: Final = 1024 * 1024
"""Bytes that are parsed twice where a field occurs in them that did not before."""
_SURROGATE: Final = re.compile(rb"\\u[dD][89a-fA-F]")


def verify_in_columns(
    name: str, content: bytes | None, file_bytes: int
) -> tuple[Verdict, pa.RecordBatch | None]:
    """Judge one file as `verify` does: its good lines are columns (LINES), and not in the verdict.

    None where the segment is not trusted.
    """
    found: list[pa.RecordBatch] = []

    def judge(verdict: Verdict, events: bytes, first: int) -> None:
        columns = columns_of(events, first)
        if columns is None:
            judge_lines(verdict, events, first)
            good = [line for line in verdict.lines if line.reason is None]
            verdict.lines = [line for line in verdict.lines if line.reason is not None]
            columns = columns_of_lines(good)
        found.append(columns)

    verdict = verify(name, content, file_bytes, judge)
    return verdict, found[0] if found and verdict.reason is None else None


def columns_of(events: bytes, first: int) -> pa.RecordBatch | None:
    """Parse lines as a whole; None where they have to be judged one by one."""
    count = events.count(b"\n")
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
    expected = counted(count, first)
    times = pc.min_max(table.column("time")).as_py()
    if not table.column("sequence").combine_chunks().equals(expected):
        return None
    if times["min"] < 0 or times["max"] > TIME_MILLISECONDS_MAX:
        return None
    numbers = pc.add(expected, 2 - first)
    columns = [table.column(name).combine_chunks() for name in FIELDS.names]
    return pa.record_batch([*columns, pa.nulls(count, pa.string()), numbers], LINES)


def _parsed(events: bytes) -> pa.Table:
    """Parse lines, part by part where they are many. Raises ArrowException."""
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
    """Parse lines for the fields that are known to occur, for all if others do as well; the
    fields known then."""
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
    """Return whether each line begins and ends as an object does, and none is too long.

    A row for each line then means that no line has two objects and none continues in the next.
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
    """Return good lines that were judged one by one as columns (LINES)."""
    values = [json.loads(line.body or "") for line in lines]
    columns = [
        pa.array([value.get(field.name) for value in values], field.type) for field in FIELDS
    ]
    extra = pa.array([line.extra for line in lines], pa.string())
    numbers = pa.array([line.number for line in lines], pa.int64())
    return pa.record_batch([*columns, extra, numbers], LINES)
