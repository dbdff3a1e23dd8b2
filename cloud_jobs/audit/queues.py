"""The audit check `delivery` of session queues: each position must be used once, and in order."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.audit.findings import SESSION, WHOLE_ONLY, finding, is_event

_USE: Final = (
    *SESSION, "position", "sequence", "time", "event", "message",
    "use", "first_event", "first_message", "since", "next_event",
)  # fmt: skip


def position_uses(events: DataFrame) -> DataFrame:
    """Return the events that use a queue position: a message is queued, or its delivery starts.

    The new column `use` numbers the events with the same queue position, beginning with 1. Other
    new columns describe the first and the next of these events.
    """
    rows = events.where(is_event("message_queued", "delivery_started"))
    in_turn = Window.partitionBy(*SESSION, "position").orderBy("sequence")
    return (
        rows.withColumn("use", F.row_number().over(in_turn))
        .withColumn("first_event", F.first("event").over(in_turn))
        .withColumn("first_message", F.first("message").over(in_turn))
        .withColumn("since", F.first("sequence").over(in_turn))
        .withColumn("next_event", F.lead("event").over(in_turn))
        .select(*_USE)
    )


def wrong_positions(positions: DataFrame) -> DataFrame:
    """Find queue positions that were used twice, out of order, or for two messages.

    Return the findings of the audit check `delivery`. `positions` is the result of `position_uses`.
    """
    is_start = is_event("delivery_started") & (F.col("first_event") == "message_queued")
    is_good = is_start & (F.col("use") == 2) & (F.col("message") == F.col("first_message"))
    again = positions.where(F.col("use") > 1).where(~is_good)
    text = F.concat(F.lit("position "), "position", F.lit(" of the queue, message "), "message")
    found = finding(
        again, "delivery", F.concat(text, F.lit(", has had an entry before")), F.col("since")
    )
    in_turn = Window.partitionBy(*SESSION).orderBy("sequence")
    entries = positions.where("use = 1").withColumn("last", F.lag("position").over(in_turn))
    entries = entries.withColumn("since", F.lag("sequence").over(in_turn))
    expected = F.coalesce(F.col("last") + 1, F.lit(0))
    odd = entries.where(F.col("position") != expected).join(
        _last_queued_before(entries), [*SESSION, "sequence"], "left"
    )
    # An entry queued in a gap of the log can be started long after it. If entries were made in a
    # gap, the next queued entry has a higher position than expected.
    is_start = is_event("delivery_started")
    since = F.when(is_start, F.col("entered")).otherwise(F.col("since"))
    verdict = F.when(is_start, "violation").otherwise(WHOLE_ONLY)
    detail = F.concat(text, F.lit(" comes where "), expected.cast("string"), F.lit(" is due"))
    return found.unionByName(finding(odd, "delivery", detail, since, verdict))


def _last_queued_before(entries: DataFrame) -> DataFrame:
    """Find the last event that queued a message before each start of a delivery.

    Only messages at the same or a lower position in the queue are considered. The column `entered`
    contains the sequence number of the event. Starts without such an event are omitted.
    """
    queued = entries.where(is_event("message_queued")).select(
        *SESSION, F.col("position").alias("front"), F.col("sequence").alias("queued_at")
    )
    starts = entries.where(is_event("delivery_started")).select(*SESSION, "position", "sequence")
    return (
        starts.join(queued, list(SESSION))
        .where("front <= position AND queued_at < sequence")
        .groupBy(*SESSION, "sequence")
        .agg(F.max("queued_at").alias("entered"))
    )


def waiting_messages(positions: DataFrame, events: DataFrame) -> DataFrame:
    """Select the queued messages that were neither sent nor removed.

    Two columns are new. `is_passed` is True if a message at a later position of the queue was sent.
    If so, `passed_at` is the sequence number of the event `delivery_started` for the sent message
    with the highest position.

    Args:
        positions: result of `position_uses`.
        events: all events to check. They show which messages were removed from the queue.
    """
    starts = positions.where(is_event("delivery_started"))
    furthest = starts.groupBy(*SESSION).agg(
        F.max("position").alias("furthest"), F.max_by("sequence", "position").alias("passed_at")
    )
    queued = positions.where("use = 1 AND event = 'message_queued' AND next_event IS NULL")
    in_turn = Window.partitionBy(*SESSION, "message").orderBy("position")
    gone = events.where(
        (is_event("delivery_completed") & (F.col("packet_id") == 0))
        | (
            is_event("message_dropped")
            & ~F.col("reason").isin("queue_full", "queue_bytes", "refused")
        )
    )
    removed = gone.groupBy(*SESSION, "message").agg(F.count("*").alias("removed"))
    return (
        queued.withColumn("nth", F.row_number().over(in_turn))
        .join(removed, [*SESSION, "message"], "left")
        .where(F.col("nth") > F.coalesce("removed", F.lit(0)))
        .join(furthest, list(SESSION), "left")
        .withColumn("is_passed", F.coalesce(F.col("position") < F.col("furthest"), F.lit(False)))
    )


def overtaken(waiting: DataFrame) -> DataFrame:
    """Find messages that are still waiting in a queue although a later message has been sent.

    Return the findings of the audit check `delivery`. `waiting` is the result of
    `waiting_messages`.
    """
    lost = waiting.where("is_passed").withColumn("since", F.col("sequence"))
    detail = F.concat(
        F.lit("message "),
        "message",
        F.lit(" waited and was passed over: neither delivered nor dropped"),
    )
    return finding(
        lost.withColumn("sequence", F.col("passed_at")), "delivery", detail, F.col("since")
    )
