"""The table `clock_corrections`, and the correction of event times.

The table `events` keeps the times that the gateways wrote, because a log that was changed later
would not be evidence. Tables that are derived from `events` have corrected times where possible,
and a column for the quality of the times. If a synchronised segment is uploaded late, the
corrections for other segments of the same broker run change, and the derived rows are computed
again.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from cloud_jobs.gold.clock_steps import (
    CORRECTED,
    SYNCHRONISED,
    UNKNOWN,
    Segment,
    Step,
    corrections_of,
)
from cloud_jobs.limits import CLOCK_CHECK_MILLISECONDS, DAY_MIN
from cloud_jobs.spark.few_rows import as_values
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.gold_schemas import CLOCK_CORRECTIONS
from cloud_jobs.tables.merge import Builder, MergeRule
from cloud_jobs.tables.schemas import schema_of

BOOT: Final = ("gateway", "boot")
TIMED: Final = (*BOOT, "store", "segment", "segment_name", "sequence", "clock", "time", "day")
"""Columns of `events` that `timed` needs, and those that identify an event."""
_KEY: Final = (*BOOT, "segment_name", "from_sequence")
_POINT: Final = schema_of(
    """
    string  gateway boot segment_name clock
    integer first last milliseconds
    """
)
"""A segment, or a clock step at sequence `first` if `segment_name` is null."""
_FOUND: Final = schema_of(
    """
    string  gateway boot segment_name
    integer from_sequence to_sequence offset_ms
    """
)
_VALUES: Final = ("to_sequence", "offset_ms", "time_quality", "day", "written_day")


def timed(events: DataFrame, corrections: DataFrame) -> DataFrame:
    """Return events with corrected `time` and `day`, and with `time_quality`."""
    known = F.broadcast(corrections).select(
        *BOOT, "segment_name", "from_sequence", "to_sequence", "offset_ms",
        F.col("day").alias("true_day"),
    ).alias("c")  # fmt: skip
    written = events.alias("e")
    here = F.col("e.sequence").between(F.col("c.from_sequence"), F.col("c.to_sequence"))
    for name in (*BOOT, "segment_name"):
        here &= F.col(f"e.{name}") == F.col(f"c.{name}")
    quality = (
        F.when(F.col("e.clock") == SYNCHRONISED, SYNCHRONISED)
        .when(F.col("offset_ms").isNotNull(), CORRECTED)
        .otherwise(UNKNOWN)
    )
    time = F.timestamp_millis(F.unix_millis("e.time") + F.coalesce("offset_ms", F.lit(0)))
    others = [name for name in events.columns if name not in ("time", "day")]
    return written.join(known, here, "left").select(
        *(F.col(f"e.{name}") for name in others),
        time.alias("time"),
        F.coalesce("true_day", "e.day").alias("day"),
        quality.alias("time_quality"),
    )


def worst_quality(quality: Column | str) -> Column:
    """Return an aggregate expression for the worst time quality in a group of rows."""
    column = F.col(quality) if isinstance(quality, str) else quality
    return (
        F.when(F.bool_or(column == UNKNOWN), UNKNOWN)
        .when(F.bool_or(column == CORRECTED), CORRECTED)
        .otherwise(SYNCHRONISED)
    )


def merge_corrections(silver: Tables, gold: Tables, first: int, through: int) -> None:
    """Update the table `clock_corrections` for new segments in the batches `first` to `through`.

    The corrections of a broker run can change in two cases: a new segment of the run is
    unsynchronised, or the run has a new segment and some of its corrections are still unknown. In
    both cases, all corrections of the run are computed again. Changed rows get the batch number
    `through`. Repeating the call has no further effect.
    """
    # A resumed run must ignore batches ingested since it was interrupted. The next run processes
    # them.
    ingested = silver.read("segments").where(
        (F.col("state") == "ingested") & (F.col("batch") <= through)
    )
    new = ingested.where(F.col("batch") >= first)
    unknown = gold.read("clock_corrections").where(F.col("time_quality") == UNKNOWN)
    waiting = new.join(F.broadcast(unknown.select(*BOOT).distinct()), list(BOOT), "left_semi")
    odd = new.where(F.col("clock") != SYNCHRONISED).select(*BOOT)
    wrong = as_values(odd.unionByName(waiting.select(*BOOT)).distinct())
    if wrong.isEmpty():
        return
    segments = ingested.join(F.broadcast(wrong), list(BOOT), "left_semi").withColumnRenamed(
        "name", "segment_name"
    )
    events = silver.read("events").where(F.col("batch") <= through)
    events = events.join(F.broadcast(wrong), list(BOOT), "left_semi")
    old = gold.read("clock_corrections").join(F.broadcast(wrong), list(BOOT), "left_semi")
    _merge(gold, _corrections(segments, events), old, through)


def _corrections(segments: DataFrame, events: DataFrame) -> DataFrame:
    """Return rows of the table `clock_corrections`, without `batch` and `day_before`."""
    points = segments.select(
        *BOOT, "segment_name", "clock", F.col("first_sequence").alias("first"),
        F.col("last_sequence").alias("last"), F.lit(None).cast("long").alias("milliseconds"),
    ).unionByName(steps_of(events))  # fmt: skip
    found = (
        points.select(*_POINT.fieldNames()).groupBy(*BOOT).applyInArrow(_start_corrections, _FOUND)
    )
    first = events.groupBy(*BOOT, "segment_name").agg(
        F.min_by("time", "sequence").alias("began"), F.min("day").alias("written_day")
    )
    dated = found.join(first, [*BOOT, "segment_name"])
    true_time = F.timestamp_millis(F.unix_millis("began") + F.col("offset_ms"))
    # `greatest` ignores null.
    day = F.when(true_time.isNotNull(), F.greatest(F.to_date(true_time), F.lit(DAY_MIN)))
    return dated.select(
        *_KEY, "to_sequence", "offset_ms",
        F.when(F.col("offset_ms").isNull(), UNKNOWN).otherwise(CORRECTED).alias("time_quality"),
        F.coalesce(day, "written_day").alias("day"), "written_day",
    )  # fmt: skip


def steps_of(events: DataFrame) -> DataFrame:
    """Find the events at which the times in the log jump because the clock was set.

    A gateway logs the change of its clock up to CLOCK_CHECK_MILLISECONDS later. Events in between
    already have the new time, so the jump may be several events before the logged change. The jump
    can be smaller than the change, because logged times are never earlier than the last time of the
    previous broker run.
    """
    in_order = Window.partitionBy(*BOOT).orderBy("sequence")
    leap = F.unix_millis("time") - F.unix_millis(F.lag("time").over(in_order))
    rows = events.select(*BOOT, "sequence", "time", "event", "clock", "step_ms", leap.alias("leap"))
    rows = rows.withColumn("millis", F.unix_millis("time")).withColumn(
        "was", F.lag("clock").over(in_order)
    )
    just_before = Window.partitionBy(*BOOT).orderBy("millis").rangeBetween(
        -CLOCK_CHECK_MILLISECONDS, 0
    )  # fmt: skip
    sign = F.signum(F.coalesce("step_ms", F.lit(0)))
    leaps = F.struct(F.col("leap").alias("leap"), F.col("sequence").alias("at"))
    rows = rows.withColumns({"up": F.max(leaps).over(just_before),
                             "down": F.min(leaps).over(just_before)})  # fmt: skip
    recorded = rows.where("event = 'clock_stepped' AND step_ms IS NOT NULL").select(
        *BOOT,
        F.when(sign > 0, F.col("up.at")).otherwise(F.col("down.at")).alias("first"),
        F.when(sign > 0, F.least("step_ms", F.greatest("up.leap", F.lit(0))))
        .otherwise(F.col("step_ms"))
        .alias("milliseconds"),
    )
    # Written times that were ahead of the clock return to the time of a synchronised clock.
    is_found = (F.col("clock") == SYNCHRONISED) & (F.col("was") != SYNCHRONISED)
    back = rows.where(is_found & (F.col("leap") < 0)).select(
        *BOOT, F.col("sequence").alias("first"), F.col("leap").alias("milliseconds")
    )
    unrecorded = back.join(recorded.select(*BOOT, "first"), [*BOOT, "first"], "left_anti")
    nothing = F.lit(None)
    return recorded.unionByName(unrecorded).select(
        *BOOT, nothing.cast("string").alias("segment_name"), nothing.cast("string").alias("clock"),
        "first", nothing.cast("long").alias("last"), "milliseconds",
    )  # fmt: skip


def _start_corrections(table: pa.Table) -> pa.Table:
    """Return the corrections for the segments that one run of a broker wrote.

    The rows of `table` are these segments, and the clock steps during the run.
    """
    rows: list[dict[str, Any]] = table.to_pylist()
    written = [Segment(r["segment_name"], r["first"], r["last"], r["clock"])
                 for r in rows if r["segment_name"] is not None]  # fmt: skip
    steps = [Step(r["first"], r["milliseconds"]) for r in rows if r["segment_name"] is None]
    found = [
        {"gateway": rows[0]["gateway"], "boot": rows[0]["boot"], "segment_name": one.name,
         "from_sequence": one.first, "to_sequence": one.last, "offset_ms": one.milliseconds}
        for one in corrections_of(written, steps)
    ]  # fmt: skip
    return pa.Table.from_pylist(found, to_arrow_schema(_FOUND))


def _merge(gold: Tables, rows: DataFrame, old: DataFrame, through: int) -> None:
    """Replace the rows `old` of the table `clock_corrections` with `rows`.

    Only changed rows are written, and get the batch number `through`. Rows of `old` without a
    counterpart in `rows` are deleted.
    """
    new = rows.withColumn("batch", F.lit(through).cast("long")).withColumn(
        "day_before", F.col("written_day")
    )
    gone = old.join(rows, list(_KEY), "left_anti").withColumn("to_sequence", F.lit(None))
    names = CLOCK_CORRECTIONS.fieldNames()
    source = new.select(*names).unionByName(gone.select(*names))
    same = " AND ".join(f"old.{name} = new.{name}" for name in _KEY)
    differs = " OR ".join(f"NOT (old.{name} <=> new.{name})" for name in _VALUES)
    values = {name: f"new.{name}" for name in (*_VALUES, "batch")}

    def clauses(builder: Builder) -> Builder:
        return (
            builder.whenMatchedDelete("new.to_sequence IS NULL")
            .whenMatchedUpdate({**values, "day_before": "old.day"}, differs)
            .whenNotMatchedInsertAll("new.to_sequence IS NOT NULL")
        )

    gold.update("clock_corrections", source, MergeRule(same, clauses))
