"""Converts delivered messages to SenML records (docs/formats/readings.md, RFC 8428).

Most payloads are parsed together, as Arrow columns (`senml_columns`). The others are parsed one by
one by the reference implementation (`senml_pack`). The other columns of a message are copied to
each of its records.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import to_arrow_schema

from cloud_jobs.ingest.numbering import counted
from cloud_jobs.ingest.senml_columns import records_in_columns
from cloud_jobs.ingest.senml_pack import ELSEWHERE, Record, RefusedPackError, records_in
from cloud_jobs.tables.schemas import DELIVERED, RECORDS

_ARROW: Final = to_arrow_schema(RECORDS, timezone="UTC")
_PARSED: Final = pa.schema(
    [("source", pa.int64()), *(one for one in _ARROW if one.name not in DELIVERED.fieldNames())]
)
"""Columns of parsed records. `source` is the row number of the message."""
_OF_REFUSED: Final = ("payload", "payload_base64", "client_id")
"""Columns of a message that only rows of refused payloads contain, because a pack can have many
records."""
_MANY: Final = 256
"""Number of messages from which on parsing them together is faster than one by one."""
_STATES: Final = pa.array(["online", "offline"])
"""Payloads that report the state of a bridge, port or device (docs/formats/readings.md)."""
_NOTHING: Final = (0, *(None,) * (len(Record._fields) - 1))


def records_of(delivered: DataFrame) -> DataFrame:
    """Convert delivered messages to rows of the schema RECORDS.

    There is one row per SenML record, or one row with the error (`wrong`) per refused payload.
    """
    return delivered.select(*DELIVERED.fieldNames()).mapInArrow(_records, RECORDS)


def _records(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        yield records_of_batch(batch)


def records_of_batch(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Convert rows of the schema DELIVERED to rows of the schema RECORDS.

    Messages that report whether a device is online or offline are skipped, because they contain no
    readings.
    """
    is_state = pc.is_in(batch.column("payload"), value_set=_STATES)
    batch = batch.filter(pc.invert(is_state))
    payloads, topics = batch.column("payload"), batch.column("topic")
    received = batch.column("time").cast(pa.int64())
    every = counted(batch.num_rows)
    if batch.num_rows < _MANY:
        return _with_messages(_one_by_one(payloads, topics, received, every), batch)
    read = [_with_error_columns(rows) for rows in records_in_columns(payloads, topics, received)]
    sources = pa.chunked_array([rows.column("source") for rows in read], pa.int64())
    unread = every.filter(pc.invert(pc.is_in(every, value_set=sources)))
    made = pa.concat_batches([*read, _one_by_one(payloads, topics, received, unread)])
    if read and len(unread):
        made = made.take(pc.sort_indices(made.column("source")))
    return _with_messages(made, batch)


def _with_error_columns(rows: pa.RecordBatch) -> pa.RecordBatch:
    """Add the error columns to records that were parsed without errors.

    The result has the schema `_PARSED`.
    """
    wrong = pa.nulls(rows.num_rows, pa.string())
    is_elsewhere = pa.repeat(pa.scalar(False), rows.num_rows)
    return pa.record_batch([*rows.columns, wrong, is_elsewhere], _PARSED)


def _one_by_one(
    payloads: pa.StringArray, topics: pa.StringArray, received: pa.Int64Array, chosen: pa.Int64Array
) -> pa.RecordBatch:
    """Parse the chosen messages one by one. Return their records and errors (schema `_PARSED`)."""
    rows: list[tuple[object, ...]] = []
    messages = (column.take(chosen).to_pylist() for column in (payloads, topics, received))
    for index, payload, topic, time in zip(chosen.to_pylist(), *messages, strict=True):
        try:
            if payload is None:
                raise RefusedPackError("the payload is not UTF-8")
            found = records_in(payload, topic, time / 1_000_000)
            rows += ((index, *record, None, False) for record in found)
        except RefusedPackError as refusal:
            rows.append((index, *_NOTHING, str(refusal), str(refusal) == ELSEWHERE))
    columns = list(zip(*rows, strict=True)) or [()] * len(_PARSED)
    made = [pa.array(column, field.type) for column, field in zip(columns, _PARSED, strict=True)]
    return pa.record_batch(made, _PARSED)


def _with_messages(made: pa.RecordBatch, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Add the columns of the messages to their parsed records, and return rows of RECORDS."""
    every = made.column("source")
    of_refused = pc.if_else(pc.is_valid(made.column("wrong")), every, None)
    taken = [
        batch.column(name).take(of_refused if name in _OF_REFUSED else every)
        for name in DELIVERED.fieldNames()
    ]
    return pa.record_batch([*taken, *made.columns[1:]], _ARROW)
