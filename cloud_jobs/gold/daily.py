"""Updates the gold tables that are computed day by day.

If a run changes a gateway's data for a day, all rows of this gateway and day are computed again.
"""

from __future__ import annotations

from datetime import date
from functools import reduce
from typing import Final, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cloud_jobs.gold.days import gateway_health, qos2_daily
from cloud_jobs.gold.drops import drops_of, published_at_qos2
from cloud_jobs.gold.offline import offline_days
from cloud_jobs.gold.readings import SERIES, with_corrected_times
from cloud_jobs.gold.sensors import days_of, days_touched, last_readings, on_moved_days, quarters_of
from cloud_jobs.gold.times import TIMED, timed
from cloud_jobs.spark.few_rows import as_values, held
from cloud_jobs.tables.delta_tables import Tables

_DAY: Final = ("gateway", "day")
_COUNTED: Final = ("event", "message", "client_id", "reason", "recovery", "batch")
"""Columns of `events` that `gateway_health` and `drops` need, in addition to TIMED."""
_OFFLINE: Final = "offline_seconds"


class Changes(NamedTuple):
    """Events and clock corrections from which a run of `oncegate gold` computes the tables."""

    first: int
    through: int
    """The first and the last batch of the run."""
    fresh: DataFrame
    """The events of the run, at their corrected times."""
    changed: DataFrame
    """Corrections that are new or have changed."""
    written: DataFrame
    """The events of this run and of earlier runs, with the times that the gateways wrote."""
    corrections: DataFrame
    """All corrections."""


def update_daily(gold: Tables, changes: Changes) -> None:
    """Recompute the rows of the table `qos2_daily` for all days with a changed message or delivery.

    If a message has moved to another day, both days are recomputed. If a day no longer has messages
    or deliveries, its row is removed. `gold` are the gold tables.
    """
    new = F.col("batch").between(changes.first, changes.through)
    messages, deliveries = gold.read("qos2_messages"), gold.read("qos2_deliveries")
    touched = [
        rows.where(new).select("gateway", F.col(day).alias("day"))
        for rows in (messages, deliveries)
        for day in ("day", "day_before")
    ]
    days = as_values(reduce(DataFrame.unionByName, touched).where("day IS NOT NULL").distinct())
    sent = _rows_of_days(deliveries, days)
    published = published_at_qos2(sent, changes.written)
    put_days(gold, "qos2_daily", days, qos2_daily(_rows_of_days(messages, days), sent, published))


def update_health(gold: Tables, segments: DataFrame, changes: Changes) -> None:
    """Recompute the rows of the tables `gateway_health` and `drops` for the days that changed.

    A day has changed if it has new events, or if a clock correction moved events to or from it.
    """
    days = as_values(
        changes.fresh.select(*_DAY).unionByName(_days_moved(changes.changed)).distinct()
    )
    elsewhere = _rows_of_days(changes.corrections, days).select(
        "gateway", F.col("written_day").alias("day")
    )
    partitions = as_values(days.unionByName(elsewhere).distinct())
    # Spark reads only these partitions.
    written = changes.written.where(F.col("day").isin(_listed(partitions)))
    written = written.select(*TIMED, *_COUNTED)
    whole_days = _rows_of_days(timed(_rows_of_days(written, partitions), changes.corrections), days)
    with held(whole_days) as whole:
        _replace_health(gold, days, gateway_health(whole, segments))
        drops, before = as_values(drops_of(whole, changes.written)), gold.read("drops")
        if not (drops.isEmpty() and _rows_of_days(before, days).isEmpty()):
            gold.replace("drops", _rows_of_other_days(before, days).unionByName(drops))


def _replace_health(gold: Tables, days: DataFrame, rows: DataFrame) -> None:
    """Replace the rows of the table `gateway_health` for `days`.

    For other days of the same gateways, update only the column `offline_seconds`.
    """
    gateways = F.broadcast(days.select("gateway").distinct())
    boots = gold.read("boots").join(gateways, "gateway", "left_semi")
    offline = as_values(offline_days(boots).withColumnRenamed(_OFFLINE, "seconds"))
    old = gold.read("gateway_health").join(gateways, "gateway", "left_semi")
    compared = old.select(*_DAY, F.col(_OFFLINE).alias("was")).join(offline, [*_DAY], "full")
    differs = compared.where("coalesce(was, 0) <> coalesce(seconds, 0)").select(*_DAY)
    others = as_values(_rows_of_other_days(differs, days))
    every = days.unionByName(others)
    known = rows.unionByName(_rows_of_days(old, others)).join(
        _rows_of_days(offline, every), [*_DAY], "full"
    )
    counts = [f.name for f in gold.schemas["gateway_health"] if f.dataType.typeName() == "long"]
    whole = known.withColumn(_OFFLINE, F.coalesce("seconds", F.lit(0.0))).fillna(0, counts)
    put_days(gold, "gateway_health", every, whole.where(f"events > 0 OR {_OFFLINE} > 0"))


def update_sensors(silver: Tables, gold: Tables, changes: Changes) -> None:
    """Recompute the rows of `sensor_quarters` and `sensor_days` for the days that changed.

    A day has changed if it has new readings, or if a clock correction moved readings to or from it.
    """
    readings = silver.read("sensor_readings").where(F.col("batch") <= changes.through)
    new = with_corrected_times(readings.where(F.col("batch") >= changes.first), changes.corrections)
    series_days = gold.read("sensor_days")
    moved = _days_moved(changes.changed)
    # A segment that begins before midnight ends on the next day.
    moved = moved.unionByName(moved.select("gateway", F.date_add("day", 1).alias("day")))
    later = as_values(on_moved_days(series_days, moved))
    own = new.select(*SERIES, "day").unionByName(later).distinct()
    days = as_values(days_touched(own, series_days).unionByName(moved).distinct())
    listed = _listed(days)
    if not listed:
        return
    near = _near(readings, *(f"TIMESTAMP '{day} 00:00:00'" for day in (listed[0], listed[-1])))
    gateways = F.broadcast(days.select("gateway").distinct())
    whole = _rows_of_days(
        with_corrected_times(near.join(gateways, "gateway", "left_semi"), changes.corrections), days
    )
    others = _rows_of_other_days(series_days.join(gateways, "gateway", "left_semi"), days)
    with held(quarters_of(whole, last_readings(others))) as quarters:
        put_days(gold, "sensor_quarters", days, quarters)
        put_days(gold, "sensor_days", days, days_of(quarters))


def _near(readings: DataFrame, first: str, last: str) -> DataFrame:
    """Select the readings whose corrected time may be on the days `first` to `last`.

    Some other readings are also selected, because the condition must be simple enough for Delta to
    skip files.
    """
    after = f"{last} + INTERVAL 1 DAY"
    return readings.where(
        f"(time >= {first} AND time < {after}) OR (delivered_at >= {first} "
        f"AND delivered_at < {after}) OR clock <> 'synchronised'"
    )


def _days_moved(changed: DataFrame) -> DataFrame:
    """Return the days that lost or gained rows because a clock correction changed.

    The columns are `gateway` and `day`.
    """
    now, before = changed.select(*_DAY), changed.select("gateway", F.col("day_before").alias("day"))
    return now.unionByName(before)


def _rows_of_days(rows: DataFrame, days: DataFrame) -> DataFrame:
    """Select the rows whose gateway and day are in `days`."""
    return rows.join(F.broadcast(days), [*_DAY], "left_semi")


def _rows_of_other_days(rows: DataFrame, days: DataFrame) -> DataFrame:
    """Select the rows whose gateway and day are not in `days`."""
    return rows.join(F.broadcast(days), [*_DAY], "left_anti")


def _listed(days: DataFrame) -> list[date]:
    """Return the distinct days, the earliest first."""
    # For a distinct column, Spark would shuffle rows that are in memory.
    found: list[date] = days.select("day").toArrow()["day"].unique().drop_null().to_pylist()
    return sorted(found)


def put_days(gold: Tables, name: str, days: DataFrame, rows: DataFrame) -> None:
    """Replace the rows of a gold table for the gateways and days in `days`, in one commit.

    `gold` are the gold tables, and `name` is the table's name. Repeating the call has no further
    effect.
    """
    listed = _listed(days)
    if not listed:
        return
    dates = ", ".join(f"DATE '{day}'" for day in listed)
    # Days are partitions, so Delta replaces whole files. They contain rows of other gateways too.
    condition = f"day IN ({dates})"
    others = _rows_of_other_days(gold.stored(name).where(condition), days)
    new = rows.select(*gold.schemas[name].fieldNames()).unionByName(others)
    gold.replace(name, new, condition)
