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

from cloud_jobs.audit.findings import SESSION, STORE
from cloud_jobs.audit.run import Audit
from cloud_jobs.spark.few_rows import as_values
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.gold_schemas import AUDIT_DAILY
from cloud_jobs.tables.merge import MergeRule

_OF_MESSAGES: Final = ("held_once", "duplicate", "released_once", "fan_out")
_OF_DELIVERIES: Final = ("identifier", "resent", "delivery", "session", "fan_out")


def daily_verdicts(
    silver: Tables, events: DataFrame, findings: DataFrame, through: int
) -> DataFrame:
    """Return rows of the table `audit_daily`: a verdict for each gateway and day with events.

    A finding counts for the day of its event. If the tables lack this event, the finding counts for
    the nearest earlier day with events. If the gateway has no events at all, the finding counts for
    the last day on which ingestion examined a file of the gateway. `through` is the batch number
    of the rows.
    """
    days = events.groupBy("gateway", "day").agg(F.min("sequence").alias("begins"))
    own_days = events.select(*STORE, "sequence", F.col("day").alias("own_day"))
    dated = findings.join(own_days, [*STORE, "sequence"], "left").withColumn(
        "finding", F.monotonically_increasing_id()
    )
    looked_at = silver.read("segments").groupBy("gateway").agg(
        F.to_date(F.max("verified_at")).alias("looked_at")
    )  # fmt: skip
    is_before = F.col("begins") <= F.col("sequence")
    nearest = F.coalesce(
        "own_day", F.max_by("day", F.when(is_before, F.col("begins"))), F.min("day"), "looked_at"
    )
    dated = (
        dated.join(days, "gateway", "left")
        .join(looked_at, "gateway", "left")
        .groupBy("finding", "gateway", "verdict", "own_day", "looked_at")
        .agg(nearest.alias("day"))
    )
    counted = dated.groupBy("gateway", "day").agg(
        *(F.count_if(F.col("verdict") == kind).alias(name)
          for kind, name in (("violation", "violations"), ("inconclusive", "inconclusive")))
    )  # fmt: skip
    rows = days.select("gateway", "day").join(counted, ["gateway", "day"], "full")
    rows = rows.fillna(0, ["violations", "inconclusive"]).withColumn("batch", F.lit(through))
    verdict = _worst(F.col("violations") > 0, F.col("inconclusive") > 0)
    return rows.withColumn("verdict", verdict).select(*AUDIT_DAILY.fieldNames())


def _worst(is_violation: Column, is_doubtful: Column) -> Column:
    return F.when(is_violation, "violation").when(is_doubtful, "inconclusive").otherwise("ok")


def merge_message_verdicts(gold: Tables, audit: Audit) -> None:
    """Write changed verdicts to the table `qos2_messages`."""
    over = F.coalesce("released_sequence", "abandoned_sequence")
    key = (*STORE, "message")
    lives = gold.read("qos2_messages").select(
        *key, F.coalesce("held_sequence", F.lit(0)).alias("began"), over.alias("ended"), "verdict"
    )
    _merge(gold, "qos2_messages", key, _verdicts_of(lives, audit, key, _OF_MESSAGES))


def merge_delivery_verdicts(gold: Tables, audit: Audit) -> None:
    """Write changed verdicts to the table `qos2_deliveries`."""
    is_over = F.col("completed").isNotNull() | F.col("dropped").isNotNull()
    over = F.when(is_over, F.col("last_sequence"))
    key = (*SESSION, "message")
    lives = gold.read("qos2_deliveries").select(
        *key, F.col("first_sequence").alias("began"), over.alias("ended"), "verdict"
    )
    _merge(gold, "qos2_deliveries", key, _verdicts_of(lives, audit, key, _OF_DELIVERIES))


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
    gaps = audit.gaps.select("at", *(F.col(name).alias(f"of_{name}") for name in STORE))
    within = (
        (F.col("gateway") == F.col("of_gateway"))
        & ((F.col("store") == F.col("of_store")) | (F.col("of_store") == ""))
        & (F.col("at") > F.col("began"))
        & (F.col("at") <= F.coalesce("ended", F.lit(2**62)))
    )
    cut = lives.join(F.broadcast(gaps), within, "left_semi").select(*key)
    no = F.lit(False)
    rows = (
        lives.withColumnRenamed("verdict", "was")
        .join(found, list(key), "left")
        .join(cut.withColumn("is_cut", F.lit(True)), list(key), "left")
    )
    verdict = _worst(F.coalesce("is_violation", no), F.coalesce("is_found", "is_cut", no))
    now = rows.select(*key, "was", verdict.alias("verdict"))
    return now.where("NOT (was <=> verdict)").drop("was")


def _merge(gold: Tables, name: str, key: tuple[str, ...], rows: DataFrame) -> None:
    changed = as_values(rows)
    if changed.isEmpty():
        return
    same = " AND ".join(f"old.{column} = new.{column}" for column in key)
    verdict = {"verdict": "new.verdict"}
    gold.update(name, changed, MergeRule(same, lambda merge: merge.whenMatchedUpdate(verdict)))
