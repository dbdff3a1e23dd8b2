"""Selects the messages whose delivery a batch completed.

A message is delivered by the event `message_published`, or by the pair `message_held` and
`message_released` with the same gateway, store and message number. The two events of a pair may
land in different segments and runs, in any order. The message then belongs to the batch in which
the later of the two landed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.ingest.split import Event, Message
from cloud_jobs.limits import KEY_RANGES_MAX
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.schemas import DELIVERED
from cloud_jobs.tables.sql import Values

MESSAGE: Final = ("gateway", "store", "message")
KINDS: Final = ("held", "released")
_CONTENT: Final = ("topic", "payload", "payload_base64", "client_id")


def delivered_in(events: DataFrame, batch: int) -> DataFrame:
    """Select the messages whose delivery this batch completed.

    Messages without a logged payload are omitted.
    """
    carried = F.col("payload").isNotNull() | F.col("payload_base64").isNotNull()
    columns = DELIVERED.fieldNames()
    published = events.where((F.col("event") == "message_published") & (F.col("batch") == batch))
    held, released = (events.where(F.col("event") == f"message_{what}") for what in KINDS)
    is_now, is_before = F.col("batch") == batch, F.col("batch") < batch
    held_now, released_now = held.where(is_now), released.where(is_now)
    pairs = _pairs(held_now, released_now)
    incomplete = _incomplete(events.where(is_now))
    if incomplete is not None:
        # If this batch has only one event of a message, search the other one in earlier batches.
        pairs = pairs.unionByName(_pairs(held.where(is_before & incomplete), released_now))
        pairs = pairs.unionByName(_pairs(held_now, released.where(is_before & incomplete)))
    delivered = published.select(*columns).unionByName(pairs.select(*columns)).where(carried)
    once = Window.partitionBy(*MESSAGE).orderBy("sequence", "boot")
    return delivered.withColumn("nth", F.row_number().over(once)).where("nth = 1").drop("nth")


def earlier_events(
    tables: Tables, batch: int, wanted: Sequence[tuple[Message, bool]]
) -> list[Event]:
    """Search earlier batches for the events in `wanted`, and return the events that were found.

    Each wanted event is a pair of a message and a flag, which is True for `message_held` and False
    for `message_released`.
    """
    rows = [(*message, f"message_{KINDS[0] if is_held else KINDS[1]}")
            for message, is_held in wanted]  # fmt: skip
    near, values = _near(message for message, _ in wanted)
    names = DELIVERED.fieldNames()
    found = tables.query(
        f"SELECT before.event AS event, {', '.join(f'before.{name} AS {name}' for name in names)} "
        "FROM {events} AS before "
        "JOIN (VALUES :wanted) AS wanted (gateway, store, message, event) "
        "ON before.gateway = wanted.gateway AND before.store = wanted.store "
        "AND before.message = wanted.message AND before.event = wanted.event "
        "WHERE before.batch < :batch AND before.event IN ('message_held', 'message_released') "
        f"AND ({near})",
        wanted=rows, batch=batch, **values,
    )  # fmt: skip
    return [
        Event(row["event"] == "message_held", {name: row[name] for name in names}) for row in found
    ]


def _near(messages: Iterable[Message]) -> tuple[str, dict[str, Values]]:
    """Return an SQL condition and the values of its parameters.

    The condition is true for all events of `messages`, and for some other events. Delta uses it to
    skip files.
    """
    ranges: dict[str, tuple[int, int]] = {}
    for gateway, _, number in messages:
        least, greatest = ranges.get(gateway, (number, number))
        ranges[gateway] = min(least, number), max(greatest, number)
    if len(ranges) > KEY_RANGES_MAX:
        least, greatest = (end(run[at] for run in ranges.values())
                           for at, end in ((0, min), (1, max)))  # fmt: skip
        near = (
            "before.message >= :least AND before.message <= :greatest "
            "AND before.gateway IN :gateways"
        )
        return near, {"least": least, "greatest": greatest, "gateways": [*ranges]}
    parts, values = [], dict[str, Values]()
    for at, (gateway, (least, greatest)) in enumerate(ranges.items()):
        parts.append(
            f"before.gateway = :gateway{at} "
            f"AND before.message >= :least{at} AND before.message <= :greatest{at}"
        )
        values |= {f"gateway{at}": gateway, f"least{at}": least, f"greatest{at}": greatest}
    return " OR ".join(f"({part})" for part in parts), values


def _pairs(held: DataFrame, released: DataFrame) -> DataFrame:
    """Join each event in `held` with the event in `released` for the same message.

    The contents come from `held`, and the times of delivery from `released`.
    """
    contents = held.select(*MESSAGE, *_CONTENT)
    deliveries = released.select(*MESSAGE, "boot", "sequence", "time", "clock", "day")
    return contents.join(deliveries, list(MESSAGE))


def _incomplete(rows: DataFrame) -> Column | None:
    """Return a filter for the messages that have only one of their two events in `rows`.

    The two events are `message_held` and `message_released`. If all messages have both, return
    None. To keep the filter short, it also selects all later messages of the same store. If more
    than KEY_RANGES_MAX stores have incomplete messages, it selects all messages. Delta can skip
    files with older messages, because message numbers increase with time.
    """
    kinds = [f"message_{what}" for what in KINDS]
    messages = rows.where(F.col("event").isin(*kinds)).groupBy(*MESSAGE)
    least = (
        messages.agg(F.count_distinct("event").alias("events"))
        .where("events = 1")
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
