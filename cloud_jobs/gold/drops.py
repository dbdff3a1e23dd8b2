"""Messages that did not reach a session: dropped one by one, or discarded with their session."""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.gold.totals import KEYS, day_before
from cloud_jobs.limits import DROPS_PER_DAY_MAX
from cloud_jobs.spark.few_rows import as_values
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.gold_schemas import DROPS
from cloud_jobs.tables.merge import MergeRule

_MESSAGE: Final = ("gateway", "store", "message")
_SESSION: Final = ("gateway", "store", "session")
_DELIVERY: Final = KEYS["qos2_deliveries"]


def drops_of(events: DataFrame, written: DataFrame) -> DataFrame:
    """Return rows of the table `drops`: messages that were dropped before a session received them.

    Args:
        events: all events of the days to compute, with corrected times.
        written: all events of all days, in which the topics of dropped messages are looked up.
    """
    dropped = as_values(
        events.where("event = 'message_dropped'").select(
            *_MESSAGE, "day", "client_id", "reason", "time", "batch"
        )
    )
    if dropped.isEmpty():
        return dropped.sparkSession.createDataFrame([], DROPS)
    published = _publications(written, dropped)
    known = published.groupBy(*_MESSAGE).agg(F.min("topic").alias("topic"))
    counted = (
        dropped.join(known, [*_MESSAGE], "left")
        .groupBy("gateway", "day", "client_id", "topic", "reason")
        .agg(
            F.count("*").alias("messages"),
            F.max("time").alias("last_time"),
            F.max("batch").alias("batch"),
        )
    )
    most = Window.partitionBy("gateway", "day").orderBy(
        F.col("messages").desc(), "client_id", "topic", "reason"
    )
    ranked = counted.withColumn("rank", F.row_number().over(most))
    return ranked.where(F.col("rank") <= DROPS_PER_DAY_MAX).select(*DROPS.fieldNames())


def published_at_qos2(deliveries: DataFrame, written: DataFrame) -> DataFrame:
    """Return the messages that were published at QoS 2 and have a delivery without a granted QoS.

    A delivery has no granted QoS if it was dropped before it entered a queue. The columns are
    `gateway`, `store` and `message`.
    """
    keys = as_values(deliveries.where("qos IS NULL").select(*_MESSAGE).distinct())
    if keys.isEmpty():
        return keys
    return _publications(written, keys).where("qos = 2").select(*_MESSAGE).distinct()


def _publications(written: DataFrame, messages: DataFrame) -> DataFrame:
    """Select the events that published one of `messages`."""
    published = written.where("event IN ('message_held', 'message_published')")
    keys = F.broadcast(messages.select(*_MESSAGE).distinct())
    return published.join(keys, [*_MESSAGE], "left_semi")


def discard(gold: Tables, first: int, through: int) -> None:
    """Mark unfinished deliveries of ended sessions as discarded.

    Repeating the call has no further effect.

    Args:
        gold: the gold tables.
        first: first batch of the run. Earlier runs have handled all earlier batches.
        through: last batch of the run. The changed rows get this batch number.
    """
    new = F.col("batch").between(first, through)
    ended = gold.read("sessions").where(F.col("end_sequence").isNotNull()).select(
        *_SESSION, "ended", "end_reason", "end_sequence", new.alias("is_end_new")
    )  # fmt: skip
    unfinished = gold.read("qos2_deliveries").where("state IN ('waiting', 'in_flight')")
    is_before = F.col("first_sequence") < F.col("end_sequence")
    rows = (
        unfinished.withColumn("is_new", new)
        .join(ended, [*_SESSION])
        .where(is_before & (F.col("is_new") | F.col("is_end_new")))
        .select(*_DELIVERY, "ended", "end_reason", F.lit(through).cast("long").alias("batch"))
    )
    found = as_values(rows)
    if found.isEmpty():
        return
    values = {
        "state": "'discarded'",
        "discarded": "new.ended",
        "discard_reason": "new.end_reason",
        "day_before": day_before(first),
        "batch": "new.batch",
    }
    on = " AND ".join(f"old.{key} = new.{key}" for key in _DELIVERY)
    rule = MergeRule(on, lambda builder: builder.whenMatchedUpdate(set=values))
    gold.update("qos2_deliveries", found, rule)
