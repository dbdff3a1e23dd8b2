"""The messages whose delivery a batch completed.

A message is delivered by `message_published`, or by `message_released` together with the
`message_held` of the same gateway, store and message. The two may have landed in different
segments and in different runs, in any order: the pair belongs to the batch that completed it.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.limits import KEY_RANGES_MAX
from cloud_jobs.tables.schemas import DELIVERED

MESSAGE: Final = ("gateway", "store", "message")
HALVES: Final = ("held", "released")
_CONTENT: Final = ("topic", "payload", "payload_base64", "client_id")


def delivered_in(events: DataFrame, batch: int) -> DataFrame:
    """Select messages whose delivery became complete in this batch, with contents where logged."""
    carried = F.col("payload").isNotNull() | F.col("payload_base64").isNotNull()
    columns = DELIVERED.fieldNames()
    published = events.where((F.col("event") == "message_published") & (F.col("batch") == batch))
    held, released = (events.where(F.col("event") == f"message_{what}") for what in HALVES)
    is_now, is_before = F.col("batch") == batch, F.col("batch") < batch
    held_now, released_now = held.where(is_now), released.where(is_now)
    pairs = _pairs(held_now, released_now)
    halved = _halved(events.where(is_now))
    if halved is not None:
        # Only of what is halved in this batch the other half is looked for in those before.
        pairs = pairs.unionByName(_pairs(held.where(is_before & halved), released_now))
        pairs = pairs.unionByName(_pairs(held_now, released.where(is_before & halved)))
    delivered = published.select(*columns).unionByName(pairs.select(*columns)).where(carried)
    once = Window.partitionBy(*MESSAGE).orderBy("sequence", "boot")
    return delivered.withColumn("nth", F.row_number().over(once)).where("nth = 1").drop("nth")


def _pairs(held: DataFrame, released: DataFrame) -> DataFrame:
    """Join contents (held) with the time of delivery (released)."""
    contents = held.select(*MESSAGE, *_CONTENT)
    deliveries = released.select(*MESSAGE, "boot", "sequence", "time", "clock", "day")
    return contents.join(deliveries, list(MESSAGE))


def _halved(rows: DataFrame) -> Column | None:
    """Return a filter that holds for every message of which `rows` have one half, None without one.

    Numbers rise, so Delta skips the files of older messages.
    """
    kinds = [f"message_{what}" for what in HALVES]
    halves = rows.where(F.col("event").isin(*kinds)).groupBy(*MESSAGE)
    least = (
        halves.agg(F.count_distinct("event").alias("halves"))
        .where("halves = 1")
        .groupBy("gateway", "store")
        .agg(F.min("message").alias("least"))
        .limit(KEY_RANGES_MAX + 1)
        .collect()
    )
    if not least:
        return None
    if len(least) > KEY_RANGES_MAX:
        return F.lit(True)
    condition = F.lit(False)
    for row in least:
        condition = condition | (
            (F.col("gateway") == row["gateway"])
            & (F.col("store") == row["store"])
            & (F.col("message") >= row["least"])
        )
    return condition
