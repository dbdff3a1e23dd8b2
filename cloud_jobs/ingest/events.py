"""From verified lines to events: typed, and each identity once, in a choice that can be
repeated."""

from __future__ import annotations

from collections.abc import Iterable

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.ingest.trust import SignedFile
from cloud_jobs.limits import KEY_RANGES_MAX
from cloud_jobs.tables.event_fields import EVENT_FIELDS
from cloud_jobs.tables.schemas import EVENT_BODY, EVENTS

KEY = ("gateway", "boot", "sequence")


def events_of(staged: DataFrame, batch: int) -> DataFrame:
    """Select a batch's good lines as rows of `events`; an identity may still occur twice."""
    lines = staged.where("line IS NOT NULL AND reason IS NULL")
    parsed = lines.withColumn("parsed", F.from_json("body", EVENT_BODY))
    day_began = F.min("parsed.time").over(Window.partitionBy("name"))
    return parsed.withColumn("day_began", day_began).select(
        *KEY,
        F.col("parsed.event").alias("event"),
        F.timestamp_millis("parsed.time").alias("time"),
        "store",
        F.lit(batch).cast("long").alias("batch"),
        *(F.col(f"parsed.{name}").alias(name) for name in EVENT_FIELDS),
        "extra",
        "clock",
        F.col("name").alias("segment_name"),
        "segment",
        "line",
        F.to_date(F.timestamp_millis("day_began")).alias("day"),
    )


def first_of_each(candidates: DataFrame) -> DataFrame:
    """Keep one row for each identity: of overlapping segments, of the least number and name."""
    order = Window.partitionBy(*KEY).orderBy("segment", "segment_name", "line")
    ranked = candidates.withColumn("rank", F.row_number().over(order)).where("rank = 1")
    return ranked.select(*EVENTS.fieldNames())


def new_events(candidates: DataFrame, events: DataFrame, ranges: Column) -> DataFrame:
    """Select the candidates that are not in the table yet, each identity once."""
    known = events.where(ranges).select(*KEY)
    return (
        first_of_each(candidates).join(known, list(KEY), "left_anti").select(*EVENTS.fieldNames())
    )


def conflicting_events(candidates: DataFrame, events: DataFrame, ranges: Column) -> DataFrame:
    """Select candidates that differ from the event of the same identity in the table."""
    contents = ["event", "time", "store", *EVENT_FIELDS, "extra"]
    known = events.where(ranges).select(
        *KEY, F.struct(*contents).alias("known"), F.col("segment_name").alias("known_segment")
    )
    both = candidates.withColumn("contents", F.struct(*contents)).join(known, list(KEY))
    return both.where(~F.col("contents").eqNullSafe(F.col("known")))


def ranges_of(files: Iterable[SignedFile]) -> Column:
    """Return a filter that holds for every event of these files and lets Delta skip most others.

    The verifier has held each file's range against its lines.
    """
    ranges: dict[str, tuple[int, int]] = {}
    for file in files:
        least, greatest = ranges.get(file.gateway, (file.first_sequence, file.last_sequence))
        ranges[file.gateway] = (
            min(least, file.first_sequence),
            max(greatest, file.last_sequence),
        )
    if len(ranges) > KEY_RANGES_MAX:
        return F.lit(True)
    condition = F.lit(False)
    for gateway, (least, greatest) in ranges.items():
        condition = condition | (
            (F.col("gateway") == gateway) & F.col("sequence").between(least, greatest)
        )
    return condition
