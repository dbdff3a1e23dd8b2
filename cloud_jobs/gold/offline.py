"""The number of seconds per day that each gateway was off.

Each row of the table `boots` describes a start of a gateway's broker, with the first and the last
event before the next start. A gateway is off from the last event of one row to the first event of
the next. If a gateway has new events, all of its days are computed again, because a start that is
ingested late can split an earlier interval. The result also has rows for days without events.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.limits import OFFLINE_DAYS_MAX

_SECONDS: Final = "offline_seconds"


def offline_days(boots: DataFrame) -> DataFrame:
    """Return `offline_seconds` for each gateway and day on which the gateway was off.

    An interval is ignored if it is negative or longer than OFFLINE_DAYS_MAX days. In both cases the
    clock was probably changed.
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
