"""Results of the audit, as columns of gold tables.

There is one verdict for each day of a gateway, for each QoS 2 message and for each QoS 2 delivery.
The verdict is `violation` if a check failed. It is `inconclusive` if the audit cannot decide, for
example because events between the first and the last event of a message are missing. Otherwise it
is `ok`.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cloud_jobs.audit.findings import SESSION, STORE
from cloud_jobs.audit.run import Audit
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.gold_schemas import AUDIT_DAILY
from cloud_jobs.tables.merge import Merge

_OF_MESSAGES: Final = ("held_once", "duplicate", "released_once", "fan_out")
_OF_DELIVERIES: Final = ("identifier", "resent", "delivery", "session", "fan_out")


def daily_verdicts(silver: Tables, events: DataFrame, found: DataFrame, through: int) -> DataFrame:
    """Return rows of the table `audit_daily`: a verdict for each gateway and day with `events`.

    A finding is counted on the day of its event. If this event is not in the log, the finding is
    counted on the nearest earlier day with events. If the gateway has no events at all, the finding
    is counted on the day when one of the gateway's files was last examined.
    """
    days = events.groupBy("gateway", "day").agg(F.min("sequence").alias("begins"))
    places = events.select(*STORE, "sequence", F.col("day").alias("own_day"))
    placed = found.join(places, [*STORE, "sequence"], "left").withColumn(
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
        placed.join(days, "gateway", "left")
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


def merge_verdicts(made: Tables, audit: Audit) -> None:
    """Write changed verdicts to the tables `qos2_messages` and `qos2_deliveries`."""
    messages, deliveries = made.read("qos2_messages"), made.read("qos2_deliveries")
    held = F.coalesce("held_sequence", F.lit(0))
    over = F.coalesce("released_sequence", "abandoned_sequence")
    key: tuple[str, ...] = (*STORE, "message")
    lives = messages.select(*key, held.alias("began"), over.alias("ended"))
    _merge(made, "qos2_messages", key, _judged(lives, audit, key, _OF_MESSAGES))
    is_over = F.col("completed").isNotNull() | F.col("dropped").isNotNull()
    over = F.when(is_over, F.col("last_sequence"))
    key = (*SESSION, "message")
    lives = deliveries.select(*key, F.col("first_sequence").alias("began"), over.alias("ended"))
    _merge(made, "qos2_deliveries", key, _judged(lives, audit, key, _OF_DELIVERIES))


def _judged(
    lives: DataFrame, audit: Audit, key: tuple[str, ...], laws: tuple[str, ...]
) -> DataFrame:
    """Return a verdict for each message or delivery in `lives`.

    The columns `began` and `ended` are the numbers of the first and the last event of the message
    or delivery. `ended` is null if it is unfinished. Only findings of the audit checks in `laws`
    are considered. An empty string as the store of a gap means that the store is unknown. Such a
    gap affects all stores of the gateway.
    """
    of_these = audit.found.where(F.col("law").isin(*laws)).groupBy(*key)
    found = of_these.agg(
        F.bool_or(F.col("verdict") == "violation").alias("is_violation"),
        F.lit(True).alias("is_found"),
    )
    lacks = audit.lacks.select("at", *(F.col(name).alias(f"of_{name}") for name in STORE))
    within = (
        (F.col("gateway") == F.col("of_gateway"))
        & ((F.col("store") == F.col("of_store")) | (F.col("of_store") == ""))
        & (F.col("at") > F.col("began"))
        & (F.col("at") <= F.coalesce("ended", F.lit(2**62)))
    )
    cut = lives.join(F.broadcast(lacks), within, "left_semi").select(*key)
    no = F.lit(False)
    rows = lives.join(found, list(key), "left").join(
        cut.withColumn("is_cut", F.lit(True)), list(key), "left"
    )
    verdict = _worst(F.coalesce("is_violation", no), F.coalesce("is_found", "is_cut", no))
    return rows.select(*key, verdict.alias("verdict"))


def _merge(made: Tables, name: str, key: tuple[str, ...], rows: DataFrame) -> None:
    same = " AND ".join(f"old.{column} = new.{column}" for column in key)
    changed = "NOT (old.verdict <=> new.verdict)"
    merge = Merge(made.path(name), rows, same)
    merge.whenMatchedUpdate({"verdict": "new.verdict"}, changed).execute()
