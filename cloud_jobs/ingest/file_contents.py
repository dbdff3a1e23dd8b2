"""SenML records and outline of a segment file. The outline is a summary for the driver.

The worker that parses the file derives both from the file's events, with Arrow columns. The records
have the columns of RECORDS, and come from messages whose events are all in the file. This module
does not use Spark and has no side effects.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from functools import reduce
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema

from cloud_jobs.ingest.outline import FrameRange, Outline, SingleEvent, ranges_of
from cloud_jobs.ingest.senml import records_of_batch
from cloud_jobs.tables.schemas import DELIVERED

ARROW_DELIVERED: Final = to_arrow_schema(DELIVERED, timezone="UTC")
CONTENT: Final = ("topic", "payload", "payload_base64", "client_id")
EPOCH: Final = date(1970, 1, 1)
_TIME: Final = pa.timestamp("us", "UTC")
_FRAME: Final = ("senml_device", "senml_boot", "senml_sequence")
"""Columns of a board's own frame number. A frame can contain several records."""


class Contents(NamedTuple):
    """The SenML records of one file, and the file's outline (a summary for the driver).

    If the file contains a message or a reading twice, the outline is None.
    """

    records: pa.RecordBatch
    outline: Outline | None


def day_of(began: int) -> date:
    """Return the day of the partition in which a file's rows are stored.

    `began` is the time of the file's first event, in milliseconds since 1970.
    """
    return EPOCH + timedelta(milliseconds=began)


def contents_of(lines: pa.RecordBatch, constants: Mapping[str, Any]) -> Contents:
    """Compute the SenML records and the outline (summary) of a file.

    Args:
        lines: the valid lines of the file (segment_columns.LINES).
        constants: gateway, store, boot and clock from the file's header, and the day of the file.
    """
    events = _with_constants(lines, constants)
    whole = _messages_of(events)
    if whole is None:
        return Contents(records_of_batch(_no_messages()), None)
    messages, delivered, single_events = whole
    records = records_of_batch(delivered)
    outline = outlined(records, messages, single_events)
    return Contents(records, outline)


def _with_constants(lines: pa.RecordBatch, constants: Mapping[str, Any]) -> pa.RecordBatch:
    """Select the columns of `lines` that this module needs, and add a column for each constant."""
    columns = {
        name: lines.column(name) for name in {*ARROW_DELIVERED.names, "event"} - {*constants}
    }
    columns["time"] = pc.multiply(lines.column("time"), 1000).cast(_TIME)
    types = {field.name: field.type for field in ARROW_DELIVERED}
    for name, value in constants.items():
        columns[name] = pa.repeat(pa.scalar(value, types[name]), lines.num_rows)
    return pa.RecordBatch.from_pydict(columns)


def _no_messages() -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], ARROW_DELIVERED)


def _messages_of(
    events: pa.RecordBatch,
) -> tuple[list[int], pa.RecordBatch, tuple[SingleEvent, ...]] | None:
    """Find the messages of a file. A message is complete if the file contains all of its events.

    Return the numbers of the complete messages, their contents as rows of DELIVERED, and the events
    of incomplete messages. Return None if a message occurs twice or has no number.
    """
    kind = events.column("event")
    published, held, released = (
        events.filter(pc.equal(kind, f"message_{what}"))
        for what in ("published", "held", "released")
    )
    at = pc.index_in(released.column("message"), value_set=held.column("message"))
    paired = _where(pc.is_valid(at), released)
    lone_released = released.filter(pc.is_null(at))
    is_paired = pc.is_in(held.column("message"), value_set=released.column("message"))
    lone_held = held.filter(pc.invert(is_paired))
    numbers = pa.concat_arrays(
        [rows.column("message") for rows in (published, paired, lone_held, lone_released)]
    )
    if (
        numbers.null_count
        or pc.count_distinct(numbers).as_py() < len(numbers)
        or len(held) - len(lone_held) != len(paired)
    ):
        return None
    contents = held.take(at.drop_null())
    pairs = {name: paired.column(name) for name in ARROW_DELIVERED.names} | {
        name: contents.column(name) for name in CONTENT
    }
    delivered = pa.concat_batches(
        [published.select(ARROW_DELIVERED.names), pa.RecordBatch.from_pydict(pairs)]
    )
    carried = pc.or_(
        pc.is_valid(delivered.column("payload")), pc.is_valid(delivered.column("payload_base64"))
    )
    single = (*_singles_of(lone_held, is_held=True), *_singles_of(lone_released, is_held=False))
    whole = numbers[: len(published) + len(paired)].to_pylist()
    return whole, _where(carried, delivered), single


def _where(mask: pa.BooleanArray, rows: pa.RecordBatch) -> pa.RecordBatch:
    """Return the rows for which `mask` is true. If all rows match, nothing is copied."""
    return rows if pc.all(mask).as_py() else rows.filter(mask)


def _singles_of(rows: pa.RecordBatch, *, is_held: bool) -> list[SingleEvent]:
    names = ("message", "sequence", "time", *(CONTENT if is_held else ()))
    columns = [rows.column(name) for name in names]
    columns[2] = columns[2].cast(pa.int64())
    nothing = (None,) * (0 if is_held else len(CONTENT))
    values = zip(*(column.to_pylist() for column in columns), strict=True)
    return [SingleEvent(is_held, *row, *nothing) for row in values]


def outlined(
    records: pa.RecordBatch, messages: list[int], single_events: tuple[SingleEvent, ...] = ()
) -> Outline | None:
    """Return the outline (summary) of SenML records, or None if a reading of a board occurs twice.

    Args:
        records: SenML records. Each message must be included only once.
        messages: numbers of the complete messages.
        single_events: events of incomplete messages, to be stored in the outline.
    """
    good = records.filter(pc.is_null(records.column("wrong"))).select([*_FRAME, "name", "position"])
    is_numbered = reduce(pc.and_, (pc.is_valid(good.column(name)) for name in _FRAME))
    numbered = pa.Table.from_batches([good.filter(is_numbered)])
    boards, frames = _boards_of(numbered)
    if frames < len(numbered) and len(_grouped(numbered, numbered.column_names)) < len(numbered):
        return None
    return Outline(
        good=len(good),
        wrong=len(records) - len(good),
        by_message=len(good) - len(numbered),
        messages=tuple(ranges_of(messages)),
        boards=tuple(boards),
        single_events=single_events,
    )


def _boards_of(numbered: pa.Table) -> tuple[list[FrameRange], int]:
    """Return the ranges of consecutive frame numbers of each board, and the count of all frames.

    A frame that occurs several times is counted once.
    """
    *board, sequence = _FRAME
    found = _grouped(numbered, board, (sequence, "distinct"), (sequence, "min_max"))
    least, greatest = pc.struct_field(found.column(-1), 0), pc.struct_field(found.column(-1), 1)
    frames = found.column(f"{sequence}_distinct")
    count = pc.list_value_length(frames)
    columns = (*(found.column(name) for name in board), least, greatest, count)
    runs = []
    for at, row in enumerate(zip(*(column.to_pylist() for column in columns), strict=True)):
        device, boot, first, last, distinct = row
        numbers = [(first, last)]
        if last - first + 1 > distinct:
            numbers = ranges_of(frames[at].as_py())
        runs += [FrameRange(device, boot, *run) for run in numbers]
    return runs, pc.sum(count).as_py() or 0


def _grouped(rows: pa.Table, keys: list[str], *wanted: tuple[str, str]) -> pa.Table:
    """Group rows by the columns `keys`, and return one row per group.

    Further arguments are pairs of a column and an aggregate function to apply to it. The groups are
    in the order in which they first occur.
    """
    return pa.TableGroupBy(rows, keys, use_threads=False).aggregate([*wanted])
