"""Rows of the gold table `sessions`, computed from the events of each session."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cloud_jobs.gold.times import worst_quality

KEY: Final = ("gateway", "store", "session")
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
"""Columns that count events, and the kinds of events that they count."""

_LATEST: Final[dict[str, tuple[tuple[str, ...], dict[str, str]]]] = {
    "connect_sequence": (
        COUNTS["connects"],
        {"connected": "time", "clean": "clean", "protocol": "protocol",
         "keep_alive_seconds": "keep_alive_seconds", "address": "address"},
    ),
    "close_sequence": (COUNTS["disconnects"], {"closed": "time", "close_reason": "reason"}),
    "end_sequence": (("session_ended",), {"ended": "time", "end_reason": "reason"}),
}  # fmt: skip
"""Sources of copied columns: for each sequence column, the kinds of events, and the columns copied
from the latest such event."""
LATEST: Final = {
    column: sequence for sequence, (_, columns) in _LATEST.items() for column in columns
}
"""For each copied column, the column with the sequence of the event from which it is copied."""
STATE: Final = (
    "CASE WHEN {end_sequence} IS NOT NULL THEN 'ended' "
    "WHEN coalesce({connect_sequence}, 0) > coalesce({close_sequence}, 0) THEN 'connected' "
    "ELSE 'away' END"
)


def sessions_of(events: DataFrame) -> DataFrame:
    """Aggregate events to rows of the table `sessions`, without the column `state`."""
    opened = F.when(F.col("event") == "session_opened", F.col("time"))
    return (
        events.where("session IS NOT NULL")
        .groupBy(*KEY)
        .agg(
            F.max("batch").alias("batch"),
            F.max_by("client_id", "sequence").alias("client_id"),
            F.min(opened).alias("opened"),
            *_latest(),
            F.min("sequence").alias("first_sequence"),
            F.max("sequence").alias("last_sequence"),
            F.count("*").alias("events"),
            *(F.count_if(F.col("event").isin(*kinds)).alias(n) for n, kinds in COUNTS.items()),
            worst_quality("time_quality").alias("time_quality"),
        )
    )


def _latest() -> list[Column]:
    found = []
    for sequence, (kinds, columns) in _LATEST.items():
        number = F.when(F.col("event").isin(*kinds), F.col("sequence"))
        found.append(F.max(number).alias(sequence))
        found += [F.max_by(field, number).alias(name) for name, field in columns.items()]
    return found
