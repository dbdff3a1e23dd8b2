"""From events to one row a session.

Each event is new in exactly one batch, so counts add up and are never taken twice; what is
"latest" is decided by `sequence`, which rises across restarts, so batches may come in any order.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cloud_jobs.tables.merge import Merge
from cloud_jobs.tables.schemas import SESSIONS

ON: Final = "old.gateway = new.gateway AND old.store = new.store AND old.session = new.session"
_SESSION: Final = ("gateway", "store", "session")
_COUNTS: Final[dict[str, tuple[str, ...]]] = {
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
_LATEST_CONNECT: Final = ("clean", "protocol", "keep_alive_seconds", "address", "connected")
_LATEST: Final = {
    "connect_sequence": _LATEST_CONNECT,
    "close_sequence": ("closed", "close_reason"),
    "end_sequence": ("ended", "end_reason"),
}


def _is(*events: str) -> Column:
    return F.col("event").isin(*events)


def _latest(column: str, *events: str) -> Column:
    """Return the column's value at the last of these events of a session."""
    return F.max_by(column, F.when(_is(*events), F.col("sequence")))


def sessions_in(events: DataFrame, batch: int) -> DataFrame:
    """Summarise a batch's events of each session, as rows of `sessions`.

    Spark sorts rows to aggregate text, and only hashes them to aggregate numbers: so all events are
    counted by session, client and kind, and text is taken from what is left, and from connects and
    ends, which are few.
    """
    mine = events.where((F.col("batch") == batch) & F.col("session").isNotNull())
    kinds = mine.groupBy(*_SESSION, "client_id", "event").agg(
        F.min("sequence").alias("least"),
        F.max("sequence").alias("greatest"),
        F.count("*").alias("number"),
    )
    counted = kinds.groupBy(*_SESSION).agg(
        F.max_by("client_id", "greatest").alias("client_id"),
        F.min("least").alias("first_sequence"),
        F.max("greatest").alias("last_sequence"),
        F.sum("number").alias("events"),
        *(
            F.coalesce(F.sum(F.when(_is(*events), F.col("number"))), F.lit(0)).alias(name)
            for name, events in _COUNTS.items()
        ),
    )
    totals = counted.join(_connects_and_ends(mine), list(_SESSION), "left")
    state = F.expr(_state("connect_sequence", "close_sequence", "end_sequence"))
    stamped = totals.withColumn("state", state).withColumn("batch", F.lit(batch).cast("long"))
    return stamped.select(*SESSIONS.fieldNames())


def _connects_and_ends(events: DataFrame) -> DataFrame:
    """Return what the latest connect, close and end of each session were."""
    connects = _COUNTS["connects"]
    changes = events.where(_is(*connects, "session_closed", "session_ended"))
    return changes.groupBy(*_SESSION).agg(
        *(_latest(name, *connects).alias(name) for name in _LATEST_CONNECT[:-1]),
        F.min(F.when(_is("session_opened"), F.col("time"))).alias("opened"),
        _latest("time", *connects).alias("connected"),
        _latest("time", "session_closed").alias("closed"),
        _latest("reason", "session_closed").alias("close_reason"),
        _latest("time", "session_ended").alias("ended"),
        _latest("reason", "session_ended").alias("end_reason"),
        F.max(F.when(_is(*connects), F.col("sequence"))).alias("connect_sequence"),
        F.max(F.when(_is("session_closed"), F.col("sequence"))).alias("close_sequence"),
        F.max(F.when(_is("session_ended"), F.col("sequence"))).alias("end_sequence"),
    )


def _state(connect: str, close: str, end: str) -> str:
    return (
        f"CASE WHEN {end} IS NOT NULL THEN 'ended' "
        f"WHEN coalesce({connect}, 0) > coalesce({close}, 0) THEN 'connected' ELSE 'away' END"
    )


def merge_sessions(builder: Merge) -> Merge:
    """Complete a merge: combine a batch's rows with those of the table."""
    values = {
        "opened": "least(old.opened, new.opened)",
        "client_id": "coalesce(new.client_id, old.client_id)",
        "first_sequence": "least(old.first_sequence, new.first_sequence)",
        "last_sequence": "greatest(old.last_sequence, new.last_sequence)",
        "events": "old.events + new.events",
        "batch": "new.batch",
    }
    values |= {name: f"old.{name} + new.{name}" for name in _COUNTS}
    for sequence, columns in _LATEST.items():
        newer = f"coalesce(new.{sequence}, 0) > coalesce(old.{sequence}, 0)"
        values |= {n: f"CASE WHEN {newer} THEN new.{n} ELSE old.{n} END" for n in columns}
        values[sequence] = f"greatest(old.{sequence}, new.{sequence})"
    values["state"] = _state(*(values[sequence] for sequence in _LATEST))
    return builder.whenMatchedUpdate(set=values).whenNotMatchedInsertAll()
