"""Seconds of each day in which a gateway was off: between the last event of a start and the next.

They are functions of `boots` alone, and are written for all days of the gateways that have news: a
start that lands later cuts an earlier interval in two, and a day without an event is a row too.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.limits import OFFLINE_DAYS_MAX
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.gold_schemas import GATEWAY_HEALTH
from cloud_jobs.tables.merge import Merge

ON: Final = "old.gateway = new.gateway AND old.day = new.day"
_SECONDS: Final = "offline_seconds"


def offline_days(boots: DataFrame) -> DataFrame:
    """Return `offline_seconds` of each gateway and day on which it was off.

    More than OFFLINE_DAYS_MAX days, or less than none, is a clock that was set, and not counted.
    """
    in_order = Window.partitionBy("gateway").orderBy("first_sequence")
    off = boots.withColumn("since", F.lag("last_time").over(in_order)).where(
        (F.col("first_time") > F.col("since"))
        & (F.datediff("first_time", "since") <= OFFLINE_DAYS_MAX)
    )
    days = off.withColumn("day", F.explode(F.sequence(F.to_date("since"), F.to_date("first_time"))))
    begin = F.greatest(F.unix_millis("since"), F.unix_millis(F.col("day").cast("timestamp")))
    end = F.least(
        F.unix_millis("first_time"), F.unix_millis(F.date_add("day", 1).cast("timestamp"))
    )
    seconds = ((end - begin) / 1000).alias("seconds")
    return (
        days.select("gateway", "day", seconds)
        .groupBy("gateway", "day")
        .agg(F.sum("seconds").alias(_SECONDS))
    )


def merge_offline(made: Tables, gateways: DataFrame) -> None:
    """Write the seconds of these gateways into `gateway_health`: done twice it changes nothing."""
    boots = made.read("boots").join(F.broadcast(gateways), "gateway", "left_semi")
    health = made.read("gateway_health").join(F.broadcast(gateways), "gateway", "left_semi")
    counted = health.where(f"{_SECONDS} > 0").select("gateway", "day", F.lit(0.0).alias(_SECONDS))
    rows = (
        offline_days(boots)
        .unionByName(counted)
        .groupBy("gateway", "day")
        .agg(F.sum(_SECONDS).alias(_SECONDS))
    )
    differs = f"old.{_SECONDS} <> new.{_SECONDS}"
    (
        Merge(made.path("gateway_health"), rows, ON)
        .whenMatchedDelete(f"old.events = 0 AND new.{_SECONDS} = 0")
        .whenMatchedUpdate({_SECONDS: f"new.{_SECONDS}"}, differs)
        .whenNotMatchedInsert(_day_without_events(), f"new.{_SECONDS} > 0")
        .execute()
    )


def _day_without_events() -> dict[str, str]:
    kept = {"gateway", "day", _SECONDS}
    return {
        field.name: f"new.{field.name}" if field.name in kept else "0"
        for field in GATEWAY_HEALTH
        if field.name in kept or field.dataType.typeName() == "long"
    }
