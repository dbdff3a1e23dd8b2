"""Gold tables whose rows are updated incrementally with the new events of each batch.

The tables contain starts, sessions, QoS 2 messages, and their deliveries. Each event is new in
exactly one batch, so it is counted once. All values other than counts are minimums or maximums, so
the order of the batches does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from cloud_jobs.gold.clock_steps import CORRECTED, UNKNOWN
from cloud_jobs.gold.sessions import COUNTS, KEY, LATEST, STATE, sessions_of
from cloud_jobs.gold.times import worst_quality
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.gold_schemas import BOOTS, QOS2_DELIVERIES, QOS2_MESSAGES, SESSIONS
from cloud_jobs.tables.merge import Builder, MergeRule

KEYS: Final[dict[str, tuple[str, ...]]] = {
    "boots": ("gateway", "boot"),
    "sessions": KEY,
    "qos2_messages": ("gateway", "store", "message"),
    "qos2_deliveries": ("gateway", "store", "session", "message"),
}
_LEAST: Final = frozenset(
    {"day", "first_sequence", "first_time", "opened", "position", "queued", "started", "held"}
)
_NOT_FROM_EVENTS: Final = ("day_before", "verdict", "discarded", "discard_reason")
"""Columns that do not come from a batch's events: the row's day before the run, the last verdict,
and the end of the session."""
_WORST_QUALITY: Final = (
    f"CASE WHEN '{UNKNOWN}' IN (old.time_quality, new.time_quality) THEN '{UNKNOWN}' "
    f"WHEN '{CORRECTED}' IN (old.time_quality, new.time_quality) THEN '{CORRECTED}' "
    "ELSE new.time_quality END"
)
_SUMS: Final = frozenset({"events", "duplicates", "resent", *COUNTS})
_GREATEST: Final = frozenset(
    {"batch", "last_sequence", "last_time", "released", "abandoned", "received", "completed",
     "dropped", *LATEST.values()}
)  # fmt: skip
_MESSAGE_STATE: Final = (
    "CASE WHEN {held_sequence} IS NULL THEN 'unknown' WHEN {released_sequence} IS NOT NULL "
    "THEN 'released' WHEN {abandoned_sequence} IS NOT NULL THEN 'abandoned' ELSE 'held' END"
)
_DELIVERY_STATE: Final = (
    "CASE WHEN {completed} IS NOT NULL THEN 'completed' WHEN {dropped} IS NOT NULL THEN 'dropped' "
    "WHEN {discarded} IS NOT NULL THEN 'discarded' "
    "WHEN {started} IS NOT NULL OR {received} IS NOT NULL THEN 'in_flight' ELSE 'waiting' END"
)
_STATES: Final = {
    "sessions": STATE, "qos2_messages": _MESSAGE_STATE, "qos2_deliveries": _DELIVERY_STATE
}  # fmt: skip


def _of(column: str, event: str) -> Column:
    return F.max(F.when(F.col("event") == event, F.col(column)))


def _first(column: str) -> Column:
    return F.min_by(column, F.when(F.col(column).isNotNull(), F.col("sequence")))


def boots_of(events: DataFrame) -> DataFrame:
    """Aggregate events to rows of the table `boots`, one per start of a gateway's broker."""
    return (
        events.groupBy("gateway", "boot")
        .agg(
            F.max("batch").alias("batch"),
            F.max("store").alias("store"),
            _of("version", "broker_started").alias("version"),
            _of("recovery", "broker_started").alias("recovery"),
            F.max_by("clock", "sequence").alias("clock"),
            F.min("sequence").alias("first_sequence"),
            F.max("sequence").alias("last_sequence"),
            F.count("*").alias("events"),
            F.min("time").alias("first_time"),
            F.max("time").alias("last_time"),
            worst_quality("time_quality").alias("time_quality"),
        )
        .select(*BOOTS.fieldNames())
    )


def messages_of(events: DataFrame) -> DataFrame:
    """Aggregate events to rows of the table `qos2_messages`."""
    kinds = ("message_held", "duplicate_suppressed", "message_released", "message_abandoned")
    found = events.where(F.col("event").isin(*kinds)).groupBy(*KEYS["qos2_messages"])
    rows = found.agg(
        F.max("batch").alias("batch"),
        F.min("day").alias("day"),
        *(_first(name).alias(name) for name in ("boot", "client_id", "session", "packet_id")),
        *(_of(name, "message_held").alias(name) for name in ("topic", "payload_bytes")),
        F.count_if(F.col("event") == "duplicate_suppressed").alias("duplicates"),
        F.max("matched").alias("matched"),
        worst_quality("time_quality").alias("time_quality"),
        *(
            _of(column, f"message_{state}").alias(f"{state}{suffix}")
            for state in ("held", "released", "abandoned")
            for column, suffix in (("sequence", "_sequence"), ("time", ""))
        ),
    )
    return _with_state(rows, "qos2_messages").select(*_columns(QOS2_MESSAGES))


def deliveries_of(events: DataFrame) -> DataFrame:
    """Aggregate events to rows of the table `qos2_deliveries`."""
    kinds = ("message_queued", "delivery_started", "delivery_resent", "delivery_received",
             "delivery_completed", "message_dropped")  # fmt: skip
    rows = (
        events.where(F.col("event").isin(*kinds))
        .groupBy(*KEYS["qos2_deliveries"])
        .agg(
            F.max("batch").alias("batch"),
            F.min("day").alias("day"),
            F.max("client_id").alias("client_id"),
            F.max("qos").alias("qos"),
            F.min("position").alias("position"),
            F.count_if(F.col("event") == "delivery_resent").alias("resent"),
            F.min(F.when(F.col("event") == "message_queued", F.col("time"))).alias("queued"),
            F.min(F.when(F.col("event") == "delivery_started", F.col("time"))).alias("started"),
            _of("time", "delivery_received").alias("received"),
            _of("time", "delivery_completed").alias("completed"),
            _of("time", "message_dropped").alias("dropped"),
            _of("reason", "message_dropped").alias("drop_reason"),
            F.min("sequence").alias("first_sequence"),
            F.max("sequence").alias("last_sequence"),
            worst_quality("time_quality").alias("time_quality"),
        )
        .withColumn("discarded", F.lit(None).cast("timestamp"))
    )
    return _with_state(rows, "qos2_deliveries").select(*_columns(QOS2_DELIVERIES))


def _session_rows(events: DataFrame) -> DataFrame:
    return _with_state(sessions_of(events), "sessions").select(*_columns(SESSIONS))


ROWS: Final[dict[str, Callable[[DataFrame], DataFrame]]] = {
    "boots": boots_of,
    "sessions": _session_rows,
    "qos2_messages": messages_of,
    "qos2_deliveries": deliveries_of,
}
"""Functions that compute a gold table's rows from events with corrected times, by table."""


def _columns(schema: StructType) -> list[Column]:
    """Return an expression for each column of a table.

    Columns whose values do not come from events (_NOT_FROM_EVENTS) are null.
    """
    return [
        F.lit(None).cast(field.dataType).alias(field.name)
        if field.name in _NOT_FROM_EVENTS
        else F.col(field.name)
        for field in schema
    ]


def _with_state(rows: DataFrame, name: str) -> DataFrame:
    columns = {column: column for column in rows.columns}
    return rows.withColumn("state", F.expr(_STATES[name].format_map(columns)))


def merge_totals(
    tables: Tables, name: str, rows: DataFrame, first: int, verdicts: DataFrame | None = None
) -> None:
    """Add a run's rows to the gold table `name`.

    A row is combined with an existing row that has the same keys. If the existing row already
    contains events of this run, only its verdict is changed. Repeating the call therefore has no
    further effect.

    Args:
        tables: the gold tables.
        name: name of the table.
        rows: rows that were computed from the run's new events.
        first: first batch of the run.
        verdicts: verdicts that have changed, with the keys of new or existing rows.
    """
    keys = KEYS[name]
    values = {
        column: _combined(column)
        for column in tables.schemas[name].fieldNames()
        if column not in keys and column != "state"
    }
    if name in _STATES:
        values["state"] = _STATES[name].format_map(values)
    is_new = f"new.batch IS NOT NULL AND old.batch < {first}"

    def clauses(builder: Builder) -> Builder:
        builder = builder.whenMatchedUpdate(values, is_new)
        if verdicts is not None:
            builder = builder.whenMatchedUpdate({"verdict": values["verdict"]})
        return builder.whenNotMatchedInsertAll()

    added = rows if verdicts is None else _with_verdicts(rows, verdicts, keys)
    tables.update(name, added, MergeRule(_same(keys), clauses))


def _with_verdicts(rows: DataFrame, verdicts: DataFrame, keys: tuple[str, ...]) -> DataFrame:
    """Add verdicts to rows. Other verdicts get a row without further values."""
    same = reduce(Column.__and__, (F.col(f"r.{k}").eqNullSafe(F.col(f"v.{k}")) for k in keys))
    both = rows.alias("r").join(verdicts.alias("v"), same, "full")
    return both.select(
        *(F.coalesce(f"r.{key}", f"v.{key}").alias(key) for key in keys),
        *(F.col(f"r.{name}") for name in rows.columns if name not in (*keys, "verdict")),
        F.col("v.verdict"),
    )


def remake(
    tables: Tables, name: str, events: DataFrame, changed: DataFrame, batches: tuple[int, int]
) -> None:
    """Recompute the rows of the gold table `name` that depend on one of the events in `changed`.

    Each row is computed from all of its events, and gets the number of the run's last batch.
    `batches` are the first and the last batch. Repeating the call has no further effect.
    """
    first, through = batches
    keys, rows_of = KEYS[name], ROWS[name]
    mine = events.join(F.broadcast(changed.select(*keys).distinct()), list(keys), "left_semi")
    made = rows_of(mine).withColumn("batch", F.lit(through).cast("long"))
    columns = [field for field in tables.schemas[name].fieldNames() if field not in keys]
    values = {
        field: f"{'old' if field in _NOT_FROM_EVENTS else 'new'}.{field}" for field in columns
    }
    if "day_before" in columns:
        values["day_before"] = day_before(first)
    if name in _STATES:
        values["state"] = _STATES[name].format_map(values)
    rule = MergeRule(_same(keys), lambda builder: builder.whenMatchedUpdate(values))
    tables.update(name, made, rule)


def day_before(first: int) -> str:
    """Return the SQL expression in a MERGE for the row's day before the run.

    `first` is the run's first batch. A row with this or a later batch was already changed by the
    run.
    """
    return f"CASE WHEN old.batch < {first} THEN old.day ELSE old.day_before END"


def _same(keys: tuple[str, ...]) -> str:
    return " AND ".join(f"old.{key} <=> new.{key}" for key in keys)


_COMBINED: Final = {
    **dict.fromkeys(_SUMS, "old.{0} + new.{0}"),
    **dict.fromkeys(_LEAST, "least(old.{0}, new.{0})"),
    **dict.fromkeys(_GREATEST, "greatest(old.{0}, new.{0})"),
    **{
        column: f"CASE WHEN coalesce(new.{sequence}, 0) > coalesce(old.{sequence}, 0) "
        f"THEN new.{column} ELSE old.{column} END"
        for column, sequence in LATEST.items()
    },
    "day_before": "old.day",
    "discarded": "old.discarded",
    "discard_reason": "old.discard_reason",
    "time_quality": _WORST_QUALITY,
}
"""SQL with which a MERGE combines the old and the new value of a column. For other columns, the new
value is used unless it is null."""


def _combined(column: str) -> str:
    return _COMBINED.get(column, "coalesce(new.{0}, old.{0})").format(column)
