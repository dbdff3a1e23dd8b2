"""The laws over single steps: identifiers, positions of queues, sessions.

Each function takes the events of a log and gives back findings: what contradicts what, between
which two sequences. Whether the log is whole between them is asked later (`cloud_jobs.audit`).
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

STORE: Final = ("gateway", "store")
SESSION: Final = (*STORE, "session")
FINDING: Final = (*STORE, "law", "verdict", "message", "session", "since", "sequence", "detail")
"""A finding's columns. `since` is the sequence from which on the log has to be whole for it to
prove anything, 0: from its beginning."""

_INBOUND: Final = ("message_held", "duplicate_suppressed", "message_released", "message_abandoned")
_OUTBOUND: Final = ("delivery_started", "delivery_resent", "delivery_received")
_FREE: Final = ("message_released", "message_abandoned", "delivery_completed")


def is_event(*names: str) -> Column:
    """The rows of these events."""
    return F.col("event").isin(*names)


def finding(
    rows: DataFrame, law: Column | str, detail: Column, since: Column, verdict: str = "violation"
) -> DataFrame:
    """Rows as findings, FINDING in this order."""
    named = rows.withColumn("law", F.lit(law) if isinstance(law, str) else law)
    return named.select(
        *STORE,
        "law",
        F.lit(verdict).alias("verdict"),
        "message",
        "session",
        F.coalesce(since, F.lit(0)).cast("long").alias("since"),
        "sequence",
        detail.alias("detail"),
    )


def identifiers(events: DataFrame) -> DataFrame:
    """Every use of a packet identifier beside the one before it.

    `state` is what the identifier was in: `held`, `sent`, `received` or `free` (null: never used);
    `after` is what it is in then.
    """
    is_outbound = is_event(*_OUTBOUND) | (is_event("delivery_completed") & (F.col("packet_id") > 0))
    used = events.where(is_event(*_INBOUND) | is_outbound).withColumn("outbound", is_outbound)
    in_turn = Window.partitionBy(*SESSION, "outbound", "packet_id").orderBy("sequence")
    so_far = in_turn.rowsBetween(Window.unboundedPreceding, 0)
    earlier = in_turn.rowsBetween(Window.unboundedPreceding, -1)
    # What only repeats (a duplicate, something resent) changes no state.
    after = (
        F.when(is_event("message_held"), "held")
        .when(is_event("delivery_started"), "sent")
        .when(is_event("delivery_received"), "received")
        .when(is_event(*_FREE), "free")
    )
    started_qos = F.when(is_event("delivery_started"), F.col("qos"))
    return (
        used.withColumn("after", after)
        .withColumn("state", F.last("after", ignorenulls=True).over(earlier))
        .withColumn("before", F.lag("message").over(in_turn))
        .withColumn("since", F.lag("sequence").over(in_turn))
        .withColumn("granted", F.last(started_qos, ignorenulls=True).over(so_far))
        .withColumn("after", F.coalesce("after", "state", F.lit("free")))
        .withColumn("is_last", F.lead("sequence").over(in_turn).isNull())
    )


def _told(what: str) -> Column:
    return F.concat(
        "event",
        F.lit(" of message "),
        "message",
        F.lit(" under packet identifier "),
        "packet_id",
        F.lit(f": {what}; before it was "),
        F.coalesce("state", F.lit("free")),
        F.coalesce(F.concat(F.lit(" by message "), "before"), F.lit("")),
    )


def wrong_identifiers(used: DataFrame, events: DataFrame) -> DataFrame:
    """`held_once`, `duplicate`, `released_once`, `identifier`, `resent`, `delivery`."""
    same = F.col("before").eqNullSafe(F.col("message"))
    is_taken = F.coalesce("state", F.lit("free")) != "free"
    in_state = {
        name: F.coalesce(F.col("state") == name, F.lit(False)) & same
        for name in ("held", "sent", "received")
    }
    due = F.when(F.col("packet") == "pubrel", in_state["received"]).otherwise(in_state["sent"])
    law = (
        F.when(is_event("message_held") & is_taken, "held_once")
        .when(is_event("duplicate_suppressed") & ~in_state["held"], "duplicate")
        .when(is_event("message_released", "message_abandoned") & ~in_state["held"],
              "released_once")
        .when(is_event("delivery_started") & is_taken, "identifier")
        .when(is_event("delivery_resent") & ~due, "resent")
        .when(is_event("delivery_received") & ~(in_state["sent"] & (F.col("granted") == 2)),
              "resent")
        .when(is_event("delivery_completed") & ~(in_state["received"] | in_state["sent"]),
              "delivery")
    )  # fmt: skip
    wrong = used.withColumn("law", law).where("law IS NOT NULL")
    found = finding(wrong, F.col("law"), _told("not what was due"), F.col("since"))
    early = used.where(is_event("delivery_completed") & in_state["sent"] & (F.col("granted") == 2))
    # MQTT 5.0 lets a client refuse with PUBREC; what was dropped in flight is completed too.
    drops = events.where(is_event("message_dropped")).select(*SESSION, "message")
    unexplained = early.join(_speakers_of_5(events), list(SESSION), "left_anti").join(
        drops, [*SESSION, "message"], "left_anti"
    )
    return found.unionByName(
        finding(unexplained, "delivery", _told("completed before its PUBREC"), F.col("since"))
    )


def _speakers_of_5(events: DataFrame) -> DataFrame:
    return events.where("protocol = 5").select(*SESSION).distinct()


def received_twice(events: DataFrame) -> DataFrame:
    """`held_once`: a message number is given once."""
    taken = events.where(is_event("message_held", "message_published"))
    in_turn = Window.partitionBy(*STORE, "message").orderBy("sequence")
    again = taken.withColumn("since", F.lag("sequence").over(in_turn)).where("since IS NOT NULL")
    detail = F.concat(F.lit("message "), "message", F.lit(" came into the system once before"))
    return finding(again, "held_once", detail, F.col("since"))


def positions(events: DataFrame) -> DataFrame:
    """One row an entry of a queue: its first event, and the sequence of its start if any."""
    rows = events.where(is_event("message_queued", "delivery_started"))
    in_turn = Window.partitionBy(*SESSION, "position").orderBy("sequence")
    return (
        rows.withColumn("use", F.row_number().over(in_turn))
        .withColumn("first_event", F.first("event").over(in_turn))
        .withColumn("first_message", F.first("message").over(in_turn))
        .withColumn("since", F.first("sequence").over(in_turn))
        .withColumn("next_event", F.lead("event").over(in_turn))
    )


def wrong_positions(places: DataFrame) -> DataFrame:
    """`delivery`: each position is taken once, in order, for one message."""
    is_start = is_event("delivery_started") & (F.col("first_event") == "message_queued")
    is_good = is_start & (F.col("use") == 2) & (F.col("message") == F.col("first_message"))
    again = places.where(F.col("use") > 1).where(~is_good)
    told = F.concat(F.lit("position "), "position", F.lit(" of the queue, message "), "message")
    found = finding(
        again, "delivery", F.concat(told, F.lit(", has had an entry before")), F.col("since")
    )
    in_turn = Window.partitionBy(*SESSION).orderBy("sequence")
    entries = places.where("use = 1").withColumn("last", F.lag("position").over(in_turn))
    entries = entries.withColumn("since", F.lag("sequence").over(in_turn))
    expected = F.coalesce(F.col("last") + 1, F.lit(0))
    odd = entries.where(F.col("position") != expected).join(
        _entered_before(entries), [*SESSION, "sequence"], "left"
    )
    # An entry that was queued in a hole of the log can be started long behind it.
    since = F.when(is_event("delivery_started"), F.col("entered")).otherwise(F.col("since"))
    detail = F.concat(told, F.lit(" comes where "), expected.cast("string"), F.lit(" is due"))
    return found.unionByName(finding(odd, "delivery", detail, since))


def _entered_before(entries: DataFrame) -> DataFrame:
    """By start: when, at the latest, an entry at or before its position was queued before it."""
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


def waiting(places: DataFrame, events: DataFrame) -> DataFrame:
    """Entries that were queued and not started, with how many of the same message left the queue
    otherwise, and the start that passed them if one did."""
    starts = places.where(is_event("delivery_started"))
    furthest = starts.groupBy(*SESSION).agg(
        F.max("position").alias("furthest"), F.max_by("sequence", "position").alias("passed_at")
    )
    queued = places.where("use = 1 AND event = 'message_queued' AND next_event IS NULL")
    in_turn = Window.partitionBy(*SESSION, "message").orderBy("position")
    gone = events.where(
        (is_event("delivery_completed") & (F.col("packet_id") == 0))
        | (is_event("message_dropped") & ~F.col("reason").isin("queue_full", "queue_bytes"))
    )
    removed = gone.groupBy(*SESSION, "message").agg(F.count("*").alias("removed"))
    return (
        queued.withColumn("nth", F.row_number().over(in_turn))
        .join(removed, [*SESSION, "message"], "left")
        .where(F.col("nth") > F.coalesce("removed", F.lit(0)))
        .join(furthest, list(SESSION), "left")
        .withColumn("is_passed", F.coalesce(F.col("position") < F.col("furthest"), F.lit(False)))
    )


def passed_over(left: DataFrame) -> DataFrame:
    """`delivery`: what waits is not passed over."""
    lost = left.where("is_passed").withColumn("since", F.col("sequence"))
    detail = F.concat(
        F.lit("message "),
        "message",
        F.lit(" waited and was passed over: neither delivered nor dropped"),
    )
    return finding(
        lost.withColumn("sequence", F.col("passed_at")), "delivery", detail, F.col("since")
    )


def nobody_there(events: DataFrame) -> DataFrame:
    """`session`: nothing is delivered to a session that has ended, or that was never opened."""
    steps = events.where(
        is_event(*_INBOUND, *_OUTBOUND, "message_queued", "message_dropped", "delivery_completed")
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
    return finding(first, "session", detail, F.col("ended"))
