"""Findings of the audit's checks, one row each.

Each check examines the events of a log, and returns pairs of events that contradict each other. A
contradiction is a violation only if the log is complete between the two events. The module
`cloud_jobs.audit.run` decides this later.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

STORE: Final = ("gateway", "store")
SESSION: Final = (*STORE, "session")
WHOLE_ONLY: Final = "violation where whole"
"""Verdict of a finding that a gap in the log would explain completely.

If the log has a gap between the two events, the finding is removed. Otherwise, it is a violation.
"""

FINDING: Final = (
    *STORE,
    "check_name",
    "verdict",
    "message",
    "session",
    "since",
    "sequence",
    "detail",
)
"""Columns of a finding. The finding proves a violation only if the log is complete from sequence
`since` to `sequence`. 0 means from the beginning of the log."""


INBOUND: Final = ("message_held", "duplicate_suppressed", "message_released", "message_abandoned")
"""Events of a message that a publisher sends to the broker."""

OUTBOUND: Final = ("delivery_started", "delivery_resent", "delivery_received")
"""Events of a delivery that is not completed."""


def is_event(*names: str) -> Column:
    """Return a condition that is true for an event whose name is one of the arguments."""
    return F.col("event").isin(*names)


def finding(
    rows: DataFrame,
    check: Column | str,
    detail: Column,
    since: Column,
    verdict: Column | str = "violation",
) -> DataFrame:
    """Convert rows to findings of an audit check, with the columns of FINDING.

    Args:
        rows: events that contradict an earlier event, one for each finding.
        check: name of the check.
        detail: description of the finding.
        since: number of the earlier event. If the log has a gap between the two events, the
            finding is not a violation.
        verdict: verdict of the finding if the log has no such gap.
    """
    named = rows.withColumn("check_name", F.lit(check) if isinstance(check, str) else check)
    return named.select(
        *STORE,
        "check_name",
        (F.lit(verdict) if isinstance(verdict, str) else verdict).alias("verdict"),
        "message",
        "session",
        F.coalesce(since, F.lit(0)).cast("long").alias("since"),
        "sequence",
        detail.alias("detail"),
    )
