"""Seconds of each day in which a gateway was off: between the last event of a start and the next.

They are functions of `boots` alone, and are written for all days of the gateways that have news: a
start that lands later cuts an earlier interval in two, and a day without an event is a row too.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.limits import OFFLINE_DAYS_MAX

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
