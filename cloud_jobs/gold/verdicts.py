"""Results of the audit, as columns of gold tables.

There is one verdict for each day of a gateway, for each QoS 2 message and for each QoS 2 delivery.
The verdict is `violation` if a check failed. It is `inconclusive` if no check failed but the audit
cannot decide, for example because events between the first and the last event of a message are
missing. Otherwise it is `ok`.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cloud_jobs.audit.findings import STORE
from cloud_jobs.audit.run import Audit
from cloud_jobs.gold.totals import KEYS
from cloud_jobs.spark.few_rows import as_values
from cloud_jobs.tables.gold_schemas import AUDIT_DAILY

_OF_MESSAGES: Final = ("held_once", "duplicate", "released_once", "fan_out")
_OF_DELIVERIES: Final = ("identifier", "resent", "delivery", "session", "fan_out")
_COUNTS: Final = {"violations": "violation", "inconclusive": "inconclusive"}
"""Columns that count findings, and the verdict that they count."""


def daily_verdicts(events: DataFrame, segments: DataFrame, findings: DataFrame) -> DataFrame:
    """Return rows of the table `audit_daily`: a verdict for each gateway and day with events.

    A finding counts for the day of its event. If the tables lack this event, the finding counts for
    the nearest earlier day with events. If the gateway has no events at all, the finding counts for
    the last day on which ingestion examined a file of the gateway.

    Args:
        events: all events, with corrected times.
        segments: rows of the table `segments`.
        findings: the findings of the audit.
    """
    days = as_values(events.groupBy("gateway", "day").agg(F.min("sequence").alias("begins")))
    at_event = findings.groupBy(*STORE, "sequence").agg(
        *(F.count_if(F.col("verdict") == kind).alias(name) for name, kind in _COUNTS.items())
    )
    own_days = events.select(*STORE, "sequence", F.col("day").alias("own_day"))
    examined = segments.groupBy("gateway")
    looked_at = examined.agg(F.to_date(F.max("verified_at")).alias("looked_at"))
    # The same in each run that audits the gateway, whichever batches the run processes.
    batches = examined.agg(F.max("batch").alias("batch"))
    is_before = F.col("begins") <= F.col("sequence")
    nearest = F.coalesce(
        F.first("own_day"), F.max_by("day", F.when(is_before, F.col("begins"))), F.min("day"),
        F.first("looked_at"),
    )  # fmt: skip
    dated = (
        at_event.join(own_days, [*STORE, "sequence"], "left")
        .join(days, "gateway", "left")
        .join(looked_at, "gateway", "left")
        .groupBy(*at_event.columns)
        .agg(nearest.alias("day"))
    )
    counted = dated.groupBy("gateway", "day").agg(*(F.sum(name).alias(name) for name in _COUNTS))
    rows = days.select("gateway", "day").join(as_values(counted), ["gateway", "day"], "full")
    rows = rows.fillna(0, [*_COUNTS]).join(F.broadcast(batches), "gateway", "left")
    verdict = _worst(F.col("violations") > 0, F.col("inconclusive") > 0)
    return rows.withColumn("verdict", verdict).select(*AUDIT_DAILY.fieldNames())


def _worst(is_violation: Column, is_doubtful: Column) -> Column:
    return F.when(is_violation, "violation").when(is_doubtful, "inconclusive").otherwise("ok")


def message_verdicts(old: DataFrame, new: DataFrame, audit: Audit) -> DataFrame:
    """Return the changed verdicts of messages.

    The columns are the keys of the table `qos2_messages` and `verdict`. `old` contains the rows of
    this table, and `new` the rows that a run adds to it.
    """
    lives = _lives(
        old, new, KEYS["qos2_messages"],
        began=F.coalesce(F.max("held_sequence"), F.lit(0)),
        ended=F.coalesce(F.max("released_sequence"), F.max("abandoned_sequence")),
    )  # fmt: skip
    return _verdicts_of(lives, audit, KEYS["qos2_messages"], _OF_MESSAGES)


def delivery_verdicts(old: DataFrame, new: DataFrame, audit: Audit) -> DataFrame:
    """Return the changed verdicts of deliveries, in the same way as `message_verdicts`."""
    is_over = F.bool_or(F.col("completed").isNotNull() | F.col("dropped").isNotNull())
    lives = _lives(
        old, new, KEYS["qos2_deliveries"],
        began=F.min("first_sequence"),
        ended=F.when(is_over, F.max("last_sequence")),
    )  # fmt: skip
    return _verdicts_of(lives, audit, KEYS["qos2_deliveries"], _OF_DELIVERIES)


def _lives(
    old: DataFrame, new: DataFrame, key: tuple[str, ...], *, began: Column, ended: Column
) -> DataFrame:
    """Combine old and new rows to one row per message or delivery, as `_verdicts_of` expects."""
    every = old.unionByName(new.select(old.columns))
    return every.groupBy(*key).agg(
        began.alias("began"), ended.alias("ended"), F.max("verdict").alias("verdict")
    )


def _verdicts_of(
    lives: DataFrame, audit: Audit, key: tuple[str, ...], checks: tuple[str, ...]
) -> DataFrame:
    """Return the changed verdicts of messages or deliveries, based on the findings and the gaps.

    A gap with an unknown store (an empty string) affects all stores of its gateway.

    Args:
        lives: messages or deliveries. The columns `began` and `ended` are the numbers of their
            first and last event. `ended` is null for an unfinished one. `verdict` is the last
            verdict.
        audit: result of the audit.
        key: columns that identify a message or delivery.
        checks: names of the checks whose findings are used.
    """
    of_these = audit.findings.where(F.col("check_name").isin(*checks)).groupBy(*key)
    found = of_these.agg(
        F.bool_or(F.col("verdict") == "violation").alias("is_violation"),
        F.lit(True).alias("is_found"),
    )
    # The gaps of a gateway are in one row, so that the messages are joined only by equality.
    gaps = audit.gaps.groupBy("gateway").agg(F.collect_list(F.struct("store", "at")).alias("gaps"))

    def is_within(gap: Column) -> Column:
        is_here = (gap["store"] == F.col("store")) | (gap["store"] == "")
        return is_here & (gap["at"] > F.col("began")) & (gap["at"] <= last)

    last = F.coalesce("ended", F.lit(2**62))
    rows = lives.join(found, list(key), "left").join(F.broadcast(gaps), "gateway", "left")
    no = F.lit(False)
    now = _worst(
        F.coalesce("is_violation", no), F.coalesce("is_found", F.exists("gaps", is_within), no)
    )
    changed = rows.withColumn("was", F.col("verdict")).withColumn("verdict", now)
    return changed.where("NOT (was <=> verdict)").select(*key, "verdict")
