"""The messages whose delivery a batch completed.

A message is delivered by `message_published`, or by `message_released` together with the
`message_held` of the same gateway, store and message. The two may have landed in different
segments and in different runs, in any order: the pair belongs to the batch that completed it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.ingest.split import Event, Message
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


def halves_before(
    events: DataFrame, batch: int, wanted: Sequence[tuple[Message, bool]]
) -> list[Event]:
    """Return the halves of these messages in earlier batches: held ones where True.

    Of few gateways Delta skips the files of all others, and of older messages.
    """
    rows = [(*message, f"message_{HALVES[0] if is_held else HALVES[1]}")
            for message, is_held in wanted]  # fmt: skip
    keys = events.sparkSession.createDataFrame(
        rows, "gateway string, store string, message long, event string"
    )
    ranges: dict[str, tuple[int, int]] = {}
    for (gateway, _, number), _ in wanted:
        least, greatest = ranges.get(gateway, (number, number))
        ranges[gateway] = min(least, number), max(greatest, number)
    numbers = [number for (_, _, number), _ in wanted]
    near = F.col("message").between(min(numbers), max(numbers))
    near &= F.col("gateway").isin(*ranges)
    if len(ranges) <= KEY_RANGES_MAX:
        near = reduce(
            Column.__or__,
            ((F.col("gateway") == gateway) & F.col("message").between(*run)
             for gateway, run in ranges.items()),
        )  # fmt: skip
    kinds = F.col("event").isin(*(f"message_{what}" for what in HALVES))
    before = events.where((F.col("batch") < batch) & kinds & near)
    columns = dict.fromkeys(("event", *MESSAGE, *_CONTENT, *DELIVERED.fieldNames()))
    found = before.join(F.broadcast(keys), [*MESSAGE, "event"], "left_semi").select(*columns)
    names = DELIVERED.fieldNames()
    return [
        Event(row["event"] == "message_held", {name: row[name] for name in names})
        for row in found.collect()
    ]


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
