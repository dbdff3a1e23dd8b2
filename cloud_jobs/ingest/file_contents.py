"""What a file's events come to, worked out where they were parsed: once, and by columns.

Its sessions (PARTS), the SenML records of the messages that it has whole (RECORDS), and its
outline. Pure: nothing here knows of Spark.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, timedelta
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema

from cloud_jobs.ingest.outline import Half, Outline, board_runs_of, runs_of
from cloud_jobs.ingest.senml import records_of_batch
from cloud_jobs.ingest.session_parts import USED, parts_of
from cloud_jobs.tables.schemas import DELIVERED

ARROW_DELIVERED: Final = to_arrow_schema(DELIVERED, timezone="UTC")
CONTENT: Final = ("topic", "payload", "payload_base64", "client_id")
EPOCH: Final = date(1970, 1, 1)
_TIME: Final = pa.timestamp("us", "UTC")


class Contents(NamedTuple):
    """Of one file. No outline where one message is in it twice, or one reading."""

    sessions: pa.RecordBatch
    records: pa.RecordBatch
    outline: Outline | None


def day_of(began: int) -> date:
    """Return the partition of a file whose events begin then, in milliseconds since 1970."""
    return EPOCH + timedelta(milliseconds=began)


def contents_of(lines: pa.RecordBatch, constants: Mapping[str, Any]) -> Contents:
    """Work out a file's contents.

    Args:
        lines: its good lines (segment_columns.LINES).
        constants: gateway, store, boot and clock of its header, and its day.
    """
    events = _with_constants(lines, constants)
    sessions = parts_of(events)
    whole = _messages_of(events)
    if whole is None:
        return Contents(sessions, records_of_batch(_no_messages()), None)
    messages, delivered, halves = whole
    records = records_of_batch(delivered)
    return Contents(sessions, records, outlined(records, messages, halves))


def _with_constants(lines: pa.RecordBatch, constants: Mapping[str, Any]) -> pa.RecordBatch:
    """Return the columns of events that are read here."""
    columns = {name: lines.column(name) for name in {*USED, *CONTENT, "message"} - {*constants}}
    columns["time"] = pc.multiply(lines.column("time"), 1000).cast(_TIME)
    types = {field.name: field.type for field in ARROW_DELIVERED}
    for name, value in constants.items():
        columns[name] = pa.repeat(pa.scalar(value, types[name]), lines.num_rows)
    return pa.RecordBatch.from_pydict(columns)


def _no_messages() -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([], ARROW_DELIVERED)


def _messages_of(
    events: pa.RecordBatch,
) -> tuple[list[int], pa.RecordBatch, tuple[Half, ...]] | None:
    """Return the numbers of messages that are whole, those of them with contents as rows of
    DELIVERED, and halves; None where a message is in the file twice or has no number."""
    kind = events.column("event")
    published, held, released = (
        events.filter(pc.equal(kind, f"message_{what}"))
        for what in ("published", "held", "released")
    )
    at = pc.index_in(released.column("message"), value_set=held.column("message"))
    paired = released.filter(pc.is_valid(at))
    lone_released = released.filter(pc.is_null(at))
    is_paired = pc.is_in(held.column("message"), value_set=released.column("message"))
    lone_held = held.filter(pc.invert(is_paired))
    numbers = [
        number
        for rows in (published, paired, lone_held, lone_released)
        for number in rows.column("message").to_pylist()
    ]
    if (
        None in numbers
        or len({*numbers}) < len(numbers)
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
    halves = (*_halves_of(lone_held, is_held=True), *_halves_of(lone_released, is_held=False))
    return numbers[: len(published) + len(paired)], delivered.filter(carried), halves


def _halves_of(rows: pa.RecordBatch, *, is_held: bool) -> list[Half]:
    names = ("message", "sequence", "time", *(CONTENT if is_held else ()))
    columns = [rows.column(name) for name in names]
    columns[2] = columns[2].cast(pa.int64())
    nothing = (None,) * (0 if is_held else len(CONTENT))
    values = zip(*(column.to_pylist() for column in columns), strict=True)
    return [Half(is_held, *row, *nothing) for row in values]


def outlined(
    records: pa.RecordBatch, messages: list[int], halves: tuple[Half, ...] = ()
) -> Outline | None:
    """Return the outline of records of distinct messages; None where a board's one is doubled."""
    names = ("senml_device", "senml_boot", "senml_sequence", "name", "position")
    boards: dict[tuple[str, int], set[int]] = {}
    seen: set[tuple[Any, ...]] = set()
    numbered = good = 0
    columns = (records.column(name).to_pylist() for name in ("wrong", *names))
    for wrong, *identity in zip(*columns, strict=True):
        if wrong is not None:
            continue
        good += 1
        device, boot, sequence = identity[:3]
        if None in (device, boot, sequence):
            continue
        numbered += 1
        seen.add(tuple(identity))
        boards.setdefault((device, boot), set()).add(sequence)
    if len(seen) < numbered:
        return None
    return Outline(
        good=good,
        wrong=records.num_rows - good,
        by_message=good - numbered,
        messages=tuple(runs_of(messages)),
        boards=tuple(board_runs_of(boards)),
        halves=halves,
    )
