"""The audit check `session`: no message is delivered to a session that does not exist."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cloud_jobs.audit.findings import INBOUND, OUTBOUND, SESSION, WHOLE_ONLY, finding, is_event


def absent_sessions(events: DataFrame) -> DataFrame:
    """Find sessions with events after their end, or with events but without a start.

    Return one finding of the audit check `session` per session, for its first such event.
    """
    steps = events.where(
        is_event(*INBOUND, *OUTBOUND, "message_queued", "message_dropped", "delivery_completed")
    )
    ends = F.max(F.when(is_event("session_ended"), F.col("sequence"))).alias("ended")
    opens = F.min(F.when(is_event("session_opened"), F.col("sequence"))).alias("opened")
    lives = events.where("session IS NOT NULL").groupBy(*SESSION).agg(opens, ends)
    bad = steps.join(lives, list(SESSION)).where("opened IS NULL OR sequence > ended")
    first = bad.groupBy(*SESSION).agg(
        F.min("sequence").alias("sequence"),
        F.min_by("message", "sequence").alias("message"),
        F.min_by("event", "sequence").alias("event"),
        F.max("ended").alias("ended"),
    )
    why = F.when(F.col("ended").isNull(), "was never opened").otherwise("has ended")
    detail = F.concat("event", F.lit(" for a session that "), why)
    # A session that is older than the log was opened before the log began.
    return finding(first, "session", detail, F.col("ended"), WHOLE_ONLY)
