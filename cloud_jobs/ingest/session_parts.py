"""What the events of one file, or of any other part of a batch, say about sessions.

Pure: Arrow columns in, one row a session out. Rows of several parts are put together by
`sessions.combined`: counts add up, and what is latest is decided by `sequence`.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import LongType, StructField, StructType

from cloud_jobs.limits import SESSION_EVENTS_MAX
from cloud_jobs.tables.schemas import SESSIONS

SESSION: Final = ("gateway", "store", "session")
COUNTS: Final[dict[str, tuple[str, ...]]] = {
    "connects": ("session_opened", "session_resumed"),
    "disconnects": ("session_closed",),
    "subscribes": ("subscribed",),
    "messages_held": ("message_held",),
    "messages_released": ("message_released",),
    "messages_published": ("message_published",),
    "duplicates_suppressed": ("duplicate_suppressed",),
    "messages_queued": ("message_queued",),
    "deliveries_started": ("delivery_started",),
    "deliveries_resent": ("delivery_resent",),
    "deliveries_completed": ("delivery_completed",),
    "messages_dropped": ("message_dropped",),
}
LATEST: Final = {
    "connect_sequence": ("clean", "protocol", "keep_alive_seconds", "address", "connected"),
    "close_sequence": ("closed", "close_reason"),
    "end_sequence": ("ended", "end_reason"),
}
"""The sequence of the latest event of a kind, and the columns that are taken from that event."""

PARTS: Final = StructType([field for field in SESSIONS if field.name not in ("state", "batch")])
NUMBERED_PARTS: Final = StructType([*PARTS, StructField("batch", LongType())])
"""PARTS, and the batch that they are of."""
USED: Final = (*SESSION, "client_id", "event", "sequence", "time", "reason",
               "clean", "protocol", "keep_alive_seconds", "address")  # fmt: skip
"""The columns of an event that are read."""

_ARROW: Final = to_arrow_schema(PARTS, timezone="UTC")
_COUNT_OF: Final = {event: name for name, events in COUNTS.items() for event in events}
_SEQUENCE_OF: Final = {
    "session_opened": "connect_sequence",
    "session_resumed": "connect_sequence",
    "session_closed": "close_sequence",
    "session_ended": "end_sequence",
}
_FIELD_OF: Final = {
    "connected": "time",
    "closed": "time",
    "close_reason": "reason",
    "ended": "time",
    "end_reason": "reason",
}
"""The field of an event from which a column is taken, where it has another name."""


def parts_of(events: pa.RecordBatch) -> pa.RecordBatch:
    """Return rows of PARTS for events with the columns USED: one for each session, several only
    where there are more than SESSION_EVENTS_MAX events."""
    starts = range(0, max(events.num_rows, 1), SESSION_EVENTS_MAX)
    return pa.concat_batches([_parts_of(events.slice(at, SESSION_EVENTS_MAX)) for at in starts])


def _parts_of(events: pa.RecordBatch) -> pa.RecordBatch:
    mine = pa.table(events.select(USED)).filter(pc.field("session").is_valid())
    rows: dict[tuple[Any, ...], dict[str, Any]] = {}
    kinds = mine.group_by([*SESSION, "client_id", "event"], use_threads=False)
    counted = kinds.aggregate([("sequence", "min"), ("sequence", "max"), ("sequence", "count")])
    for kind in counted.to_pylist():
        _count(rows.setdefault(_key(kind), _new(kind)), kind)
    changes = pc.is_in(mine.column("event"), value_set=pa.array(_SEQUENCE_OF))
    for event in mine.filter(changes).to_pylist():
        _take(rows[_key(event)], event)
    return pa.RecordBatch.from_pylist(list(rows.values()), _ARROW)


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in SESSION)


def _new(kind: dict[str, Any]) -> dict[str, Any]:
    least = kind["sequence_min"]
    counts = dict.fromkeys(("events", *COUNTS), 0)
    names = {name: kind[name] for name in SESSION}
    return names | counts | {"first_sequence": least, "last_sequence": least - 1}


def _count(row: dict[str, Any], kind: dict[str, Any]) -> None:
    """Add the events of one kind and client to the row of their session."""
    number, greatest = kind["sequence_count"], kind["sequence_max"]
    row["events"] += number
    if kind["event"] in _COUNT_OF:
        row[_COUNT_OF[kind["event"]]] += number
    row["first_sequence"] = min(row["first_sequence"], kind["sequence_min"])
    if greatest > row["last_sequence"]:
        row["last_sequence"], row["client_id"] = greatest, kind["client_id"]


def _take(row: dict[str, Any], event: dict[str, Any]) -> None:
    """Take the values of a connect, close or end, where it is the latest one so far."""
    kind, sequence = _SEQUENCE_OF[event["event"]], event["sequence"]
    opened = row.get("opened")
    if event["event"] == "session_opened" and (opened is None or event["time"] < opened):
        row["opened"] = event["time"]
    if sequence > row.get(kind, -1):
        row[kind] = sequence
        row |= {name: event[_FIELD_OF.get(name, name)] for name in LATEST[kind]}
