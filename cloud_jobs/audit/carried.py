"""The events of an audited log that an audit of its later events needs.

An audit of all events of a log takes longer with each day. Where it found nothing, the next audit
can continue: with the later events, and with those earlier ones that the checks still need. These
are the events of unfinished messages and deliveries, of the last entry of each queue, of sessions
and subscriptions in force and of retained messages, and the last batch of records, whose other
events may be in the next segment.

A continued audit can only prove that nothing is wrong. It does not know all earlier events, so its
findings are not final: the log is then audited from the beginning.
"""

from __future__ import annotations

from functools import reduce
from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.audit.findings import INBOUND, OUTBOUND, SESSION, STORE, is_event
from cloud_jobs.audit.identifiers import uses_of
from cloud_jobs.audit.queues import position_uses, waiting_messages
from cloud_jobs.spark.few_rows import as_values, held

MARK: Final = "audited"
"""The event name of a row that is not an event. It has the number and the time of the last audited
event of a store, the greatest number of a message so far, and in `from_sequence` the first event of
the last batch of records."""
_ENTERED: Final = ("message_held", "message_published")
_DELIVERY: Final = (*OUTBOUND, "message_queued", "delivery_completed", "message_dropped")


def carried_of(events: DataFrame) -> DataFrame:
    """Return the events that an audit of later events needs, and one mark for each store.

    `events` are the audited events of logs without findings, with the columns AUDITED. They may
    contain the marks and the events that the audit itself was continued from.
    """
    marks = as_values(_marks_of(events))
    cuts = F.broadcast(marks.select(*STORE, F.col("from_sequence").alias("cut")))
    own = events.where(~is_event(MARK)).join(cuts, [*STORE])
    before = own.where("sequence < cut").select(*events.columns)
    last_batch = own.where("sequence >= cut").select(*events.columns)
    ended = before.where(is_event("session_ended")).select(*SESSION).distinct()
    with held(position_uses(before)) as positions:
        kept = _needed(before, positions).join(ended, [*SESSION], "left_anti")
        found = kept.unionByName(last_batch).unionByName(marks, allowMissingColumns=True)
        return as_values(found)


def _marks_of(events: DataFrame) -> DataFrame:
    last = events.groupBy(*STORE).agg(F.max_by("time", "sequence").alias("last_time"))
    earlier = ~is_event(MARK) & (F.col("time") != F.col("last_time"))
    of_mark = is_event(*_ENTERED, MARK)
    return events.join(F.broadcast(last), [*STORE]).groupBy(*STORE).agg(
        F.max("sequence").alias("sequence"),
        F.max("last_time").alias("time"),
        F.lit(MARK).alias("event"),
        F.max(F.when(of_mark, F.col("message"))).alias("message"),
        (F.coalesce(F.max(F.when(earlier, F.col("sequence"))), F.lit(0)) + 1).alias(
            "from_sequence"
        ),
    )  # fmt: skip


def _needed(events: DataFrame, positions: DataFrame) -> DataFrame:
    """Select the events that are needed to judge what follows them."""
    pairs = (*SESSION, "message")
    deliveries = events.where(is_event(*INBOUND, *_DELIVERY)).join(
        _unfinished(events, positions).distinct(), [*pairs], "left_semi"
    )
    changes = events.where(is_event("subscribed", "unsubscribed"))
    retained = events.where(is_event("retained_set", "retained_cleared"))
    states = [
        _last(events.where(is_event("session_opened")), *SESSION),
        _last(events.where("protocol = 5"), *SESSION),
        _last(changes, *SESSION, "filter").where(is_event("subscribed")),
        _last(retained, *STORE, "topic").where(is_event("retained_set")),
    ]
    return reduce(DataFrame.unionByName, [deliveries, *states]).distinct()


def _last(events: DataFrame, *key: str) -> DataFrame:
    """Return the last event for each value of the key."""
    in_turn = Window.partitionBy(*key).orderBy(F.col("sequence").desc())
    rows = events.withColumn("nth", F.row_number().over(in_turn)).where("nth = 1")
    return rows.drop("nth")


def _unfinished(events: DataFrame, positions: DataFrame) -> DataFrame:
    """Return sessions and messages: what is in flight or waits, and the last entry of each queue.

    The last entry shows which position of the queue is due next.
    """
    pairs = (*SESSION, "message")
    in_flight = uses_of(events).where("is_last AND after != 'free'")
    last_entry = _last(positions.where("use = 1"), *SESSION)
    waiting = waiting_messages(positions, events)
    return reduce(
        DataFrame.unionByName, (rows.select(*pairs) for rows in (in_flight, last_entry, waiting))
    )


def not_continued(later: DataFrame, carried: DataFrame) -> DataFrame:
    """Return the gateways whose later events do not continue the audited ones.

    These are gateways with an event before the last audited one, or with a message whose number is
    not greater than all audited ones: either could contradict an event that is not carried.
    """
    marks = carried.where(is_event(MARK)).select(
        *STORE, F.col("sequence").alias("audited"), F.col("message").alias("greatest")
    )
    rows = later.join(F.broadcast(marks), [*STORE])
    is_late = F.col("sequence") <= F.col("audited")
    is_known = is_event(*_ENTERED) & (F.col("message") <= F.col("greatest"))
    return rows.where(is_late | is_known).select("gateway").distinct()


def not_judged_before(findings: DataFrame, carried: DataFrame) -> DataFrame:
    """Return the findings without those about carried events that were judged before.

    Without its predecessors, a carried event can look wrong.
    """
    marks = carried.where(is_event(MARK)).select(*STORE, F.col("from_sequence").alias("cut"))
    rows = findings.join(F.broadcast(marks), [*STORE], "left")
    return rows.where("cut IS NULL OR sequence >= cut").select(*findings.columns)
