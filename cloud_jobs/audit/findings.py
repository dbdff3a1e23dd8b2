"""Findings of the audit's laws: one row each.

Each law takes the events of a log and returns contradictions, each between two sequences.
Whether the log is whole between them is decided afterwards (`cloud_jobs.audit.run`).
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

STORE: Final = ("gateway", "store")
SESSION: Final = (*STORE, "session")
WHOLE_ONLY: Final = "violation where whole"
"""The verdict of a finding that a break of the log explains: a violation, or nothing."""

FINDING: Final = (*STORE, "law", "verdict", "message", "session", "since", "sequence", "detail")
"""A finding's columns. `since` is the sequence from which on the log has to be whole for it to
prove anything, 0: from its beginning."""


INBOUND: Final = ("message_held", "duplicate_suppressed", "message_released", "message_abandoned")
"""Events of a message on its way from its publisher."""

OUTBOUND: Final = ("delivery_started", "delivery_resent", "delivery_received")
"""Events of a delivery that is not completed."""


def is_event(*names: str) -> Column:
    """Return the condition that selects the rows of these events."""
    return F.col("event").isin(*names)


def finding(
    rows: DataFrame,
    law: Column | str,
    detail: Column,
    since: Column,
    verdict: Column | str = "violation",
) -> DataFrame:
    """Select rows as findings, FINDING in this order."""
    named = rows.withColumn("law", F.lit(law) if isinstance(law, str) else law)
    return named.select(
        *STORE,
        "law",
        (F.lit(verdict) if isinstance(verdict, str) else verdict).alias("verdict"),
        "message",
        "session",
        F.coalesce(since, F.lit(0)).cast("long").alias("since"),
        "sequence",
        detail.alias("detail"),
    )
