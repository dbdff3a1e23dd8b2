"""Summarises sensor readings by quarter hour and by day, with one row for each quantity.

If a day has new readings, all of its rows are computed again. The increase of a counter is the
difference from its previous reading, which may be from an earlier day. Therefore the last readings
of other days are needed as well (`last_readings`).
"""

from __future__ import annotations

from functools import reduce
from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.gold.readings import SERIES
from cloud_jobs.gold.times import worst_quality
from cloud_jobs.tables.gold_schemas import SENSOR_DAYS, SENSOR_QUARTERS

COUNTER_UNITS: Final = ("Wh", "kWh", "MWh", "J", "kJ", "MJ", "GJ", "varh", "kvarh", "VAh", "kVAh",
                        "m3", "l", "L", "count")  # fmt: skip
"""Units of amounts that add up: energy, volume and counts (RFC 8428 section 12.1, and units of
meters)."""
RESET_SHARE: Final = 0.9
"""A counter that falls below this share of its value has restarted. A smaller decrease is a
rounding error. Home Assistant uses the same threshold for `total_increasing`."""
_DEVICE: Final = ("gateway", "device", "device_boot")


def days_touched(new: DataFrame, series_days: DataFrame) -> DataFrame:
    """Return the days (`gateway` and `day`) to compute again because of new readings.

    These are the days of the new readings and, for each series, the next day that has readings. The
    first increase on that next day depends on the new readings.

    Args:
        new: readings that are new or have moved to another time, with the columns SERIES and `day`.
        series_days: rows of the table `sensor_days`.
    """
    days = new.select(*SERIES, F.col("day").alias("new_day")).distinct().alias("n")
    later = series_days.select(*SERIES, "day").alias("d")
    same = reduce(Column.__and__, (F.col(f"n.{n}").eqNullSafe(F.col(f"d.{n}")) for n in SERIES))
    following = (
        days.join(later, same & (F.col("d.day") > F.col("new_day")))
        .groupBy(*(F.col(f"n.{name}") for name in SERIES), "new_day")
        .agg(F.min("d.day").alias("day"))
    )
    own = days.select("gateway", F.col("new_day").alias("day"))
    return own.unionByName(following.select("gateway", "day")).distinct()


def on_moved_days(series_days: DataFrame, moved: DataFrame) -> DataFrame:
    """Return all pairs of a series and a day in `moved` that belong to the same gateway.

    Any series of the gateway may have lost or gained readings on these days.

    Args:
        series_days: rows of the table `sensor_days`.
        moved: days that lost or gained readings because a clock correction changed, with the
            columns `gateway` and `day`.
    """
    series = series_days.select(*SERIES).distinct()
    return series.join(F.broadcast(moved.distinct()), "gateway").select(*SERIES, "day")


def last_readings(series_days: DataFrame) -> DataFrame:
    """Return the last reading of each series on each day, in the form that `quarters_of` expects.

    The first reading of a later day is compared with this reading. `series_days` contains rows of
    the table `sensor_days` that are not computed again.
    """
    nothing = F.lit(None)
    return series_days.select(
        *SERIES, "unit", "batch", nothing.cast("long").alias("sequence"),
        nothing.cast("long").alias("position"), "device_boot", "device_sequence",
        F.col("last").alias("number"), nothing.cast("string").alias("text"),
        F.col("increase").isNotNull().alias("is_sum"), F.lit(False).alias("is_repeat"),
        F.col("last_time").alias("time"), nothing.cast("timestamp").alias("begin"), "day",
        "time_quality",
    )  # fmt: skip


def quarters_of(readings: DataFrame, before: DataFrame) -> DataFrame:
    """Return rows of the table `sensor_quarters`, with the frame number of each row's last reading.

    Args:
        readings: all readings of some days, with corrected times.
        before: the last readings of other days (`last_readings`). The first reading of each series
            is compared with them, but they are not counted.
    """
    every = readings.withColumn("is_counted", F.lit(True)).unionByName(
        before.withColumn("is_counted", F.lit(False))
    )
    in_turn = Window.partitionBy(*SERIES).orderBy("time", "sequence", "position")
    numbered = Window.partitionBy(*_DEVICE).orderBy("device_sequence")
    frame_before = F.max("device_sequence").over(
        numbered.rangeBetween(Window.unboundedPreceding, -1)
    )
    has_numbers = F.col("device").isNotNull() & F.col("device_sequence").isNotNull()
    is_counter = F.col("unit").isin(*COUNTER_UNITS) | F.col("is_sum")
    previous = F.last("number", ignorenulls=True).over(
        in_turn.rowsBetween(Window.unboundedPreceding, -1)
    )
    rows = (
        every.withColumn("frame_before", F.when(has_numbers, frame_before))
        .withColumn("previous", F.when(is_counter, previous))
        .withColumn("is_reset", F.col("number") < F.col("previous") * RESET_SHARE)
        .where("is_counted")
    )
    step = F.when(F.col("is_reset"), F.col("number")).otherwise(
        F.greatest(F.col("number") - F.col("previous"), F.lit(0.0))
    )
    return _quarters(rows.withColumn("step", F.when(is_counter, F.coalesce(step, F.lit(0.0)))))


def _quarters(rows: DataFrame) -> DataFrame:
    in_turn = F.struct("time", "sequence", "position")
    of_numbers = F.when(F.col("number").isNotNull(), in_turn)
    last = F.max_by(F.struct("device_boot", "device_sequence"), in_turn)
    # A frame with several records of one name counts once.
    holes = F.map_from_entries(
        F.collect_set(F.when(
            F.col("device_sequence") > F.col("frame_before") + 1,
            F.struct(
                F.struct("device_boot", "device_sequence").alias("key"),
                (F.col("device_sequence") - F.col("frame_before") - 1).alias("value"),
            ),
        ))
    )  # fmt: skip
    missing = F.aggregate(F.map_values(holes), F.lit(0).cast("long"), lambda sum, one: sum + one)
    found = rows.groupBy(*SERIES, "day", "begin").agg(
        F.max_by("unit", in_turn).alias("unit"),
        F.count("*").alias("readings"),
        F.count("number").alias("numbers"),
        F.min_by("number", of_numbers).alias("first"),
        F.max_by("number", of_numbers).alias("last"),
        F.min("number").alias("minimum"),
        F.avg("number").alias("mean"),
        F.max("number").alias("maximum"),
        F.max_by("text", F.when(F.col("text").isNotNull(), in_turn)).alias("last_text"),
        F.min("time").alias("first_time"),
        F.max("time").alias("last_time"),
        missing.alias("missing"),
        F.count_if("is_repeat").alias("repeats"),
        F.sum("step").alias("increase"),
        F.when(F.count("step") > 0, F.count_if("is_reset")).alias("resets"),
        worst_quality("time_quality").alias("time_quality"),
        F.max("batch").alias("batch"),
        last.alias("numbered"),
    )
    numbered = ("numbers", "numbered.device_boot", "numbered.device_sequence")
    return found.select(*SENSOR_QUARTERS.fieldNames(), *numbered)


def days_of(quarters: DataFrame) -> DataFrame:
    """Aggregate quarter hours (the result of `quarters_of`) to rows of the table `sensor_days`."""

    def at_end(name: str) -> Column:
        return F.max_by(name, F.when(F.col(name).isNotNull(), F.col("begin"))).alias(name)

    sums = ("readings", "missing", "repeats", "increase", "resets")
    mean = F.sum(F.col("mean") * F.col("numbers")) / F.sum("numbers")
    found = quarters.groupBy(*SERIES, "day").agg(
        at_end("unit"),
        F.min_by("first", F.when(F.col("first").isNotNull(), F.col("begin"))).alias("first"),
        at_end("last"),
        F.min("minimum").alias("minimum"),
        F.when(F.sum("numbers") > 0, mean).alias("mean"),
        F.max("maximum").alias("maximum"),
        at_end("last_text"),
        F.min("first_time").alias("first_time"),
        F.max("last_time").alias("last_time"),
        *(F.sum(name).alias(name) for name in sums),
        worst_quality("time_quality").alias("time_quality"),
        F.max("batch").alias("batch"),
        *(F.max_by(n, "begin").alias(n) for n in ("device_boot", "device_sequence")),
    )
    return found.select(*SENSOR_DAYS.fieldNames())
