"""Rows of `qos2_daily` and `gateway_health`, aggregated per gateway and day."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cloud_jobs.gold.times import worst_quality
from cloud_jobs.limits import PERCENTILE_ACCURACY
from cloud_jobs.tables.gold_schemas import GATEWAY_HEALTH, QOS2_DAILY

_LOST: Final = ("network", "keep_alive", "protocol_error", "slow")
"""Reasons in the event `session_closed` if the connection was not ended on purpose."""
EXPIRED: Final = "expired"
"""Reason in the event `message_dropped` if the expiry interval chosen by the publisher passed."""


def _milliseconds(since: str | Column, until: str) -> Column:
    first = F.col(since) if isinstance(since, str) else since
    return F.greatest(F.unix_millis(until) - F.unix_millis(first), F.lit(0))


def _percentiles(name: str, column: Column) -> list[Column]:
    def nth(share: float) -> Column:
        return F.percentile_approx(column, share, PERCENTILE_ACCURACY).cast("long")

    return [
        nth(0.5).alias(f"{name}_p50_ms"),
        nth(0.99).alias(f"{name}_p99_ms"),
        F.max(column).alias(f"{name}_max_ms"),
    ]


def qos2_daily(messages: DataFrame, deliveries: DataFrame, published: DataFrame) -> DataFrame:
    """Return rows of the table `qos2_daily`.

    Args:
        messages: rows of the table `qos2_messages` that began on the days to compute.
        deliveries: rows of the table `qos2_deliveries` that began on the days to compute.
        published: keys of messages published at QoS 2. Deliveries whose own QoS is unknown are
            counted only if their message is among them (see `drops.published_at_qos2`).
    """

    def is_in(*states: str) -> Column:
        return F.count_if(F.col("state").isin(*states))

    hold = _milliseconds("held", "released")
    received = messages.where("held IS NOT NULL").groupBy("gateway", "day").agg(
        F.count("*").alias("messages"),
        *(is_in(state).alias(state) for state in ("released", "abandoned", "held")),
        F.sum("duplicates").alias("duplicates"),
        *_percentiles("hold", hold),
        F.max("batch").alias("message_batch"),
    )  # fmt: skip
    whole = _milliseconds(F.least("queued", "started"), "completed")
    unqueued = deliveries.where("qos IS NULL").join(published, published.columns, "left_semi")
    sent = deliveries.where("qos = 2").unionByName(unqueued).groupBy("gateway", "day").agg(
        F.count("*").alias("deliveries"),
        *(is_in(state).alias(state) for state in ("completed", "dropped", "discarded")),
        is_in("waiting", "in_flight").alias("unfinished"),
        F.sum("resent").alias("resent"),
        *_percentiles("delivery", whole),
        F.max("batch").alias("delivery_batch"),
    )  # fmt: skip
    both = received.join(sent, ["gateway", "day"], "full")
    rows = both.withColumn("batch", F.greatest("message_batch", "delivery_batch"))
    counts = ("messages", "released", "abandoned", "held", "duplicates", "deliveries",
              "completed", "dropped", "discarded", "unfinished", "resent")  # fmt: skip
    return rows.fillna(0, list(counts)).select(*QOS2_DAILY.fieldNames())


def gateway_health(events: DataFrame, segments: DataFrame) -> DataFrame:
    """Return rows of the table `gateway_health`. `events` must contain all events of each day.

    The column `offline_seconds` is 0 in these rows. The module `gold.daily` computes its values.
    """

    def number(*kinds: str) -> Column:
        return F.count_if(F.col("event").isin(*kinds))

    def is_closed_for(*reasons: str) -> Column:
        return (F.col("event") == "session_closed") & F.col("reason").isin(*reasons)

    is_dropped = F.col("event") == "message_dropped"
    found = events.groupBy("gateway", "day").agg(
        F.count("*").alias("events"),
        number("broker_started").alias("starts"),
        F.count_if((F.col("event") == "broker_started") & (F.col("recovery") == "unclean")).alias(
            "unclean_starts"
        ),
        number("session_opened").alias("sessions_opened"),
        number("session_resumed").alias("sessions_resumed"),
        number("session_closed").alias("sessions_closed"),
        F.count_if(is_closed_for(*_LOST)).alias("sessions_lost"),
        F.approx_count_distinct("client_id").alias("clients"),
        number("protocol_error").alias("protocol_errors"),
        number("limit_hit").alias("limits_hit"),
        number("clock_stepped").alias("clock_steps"),
        number("store_damaged").alias("damages"),
        number("log_truncated").alias("truncations"),
        number("serial_port_lost").alias("ports_lost"),
        F.count_if(is_dropped & (F.col("reason") != EXPIRED)).alias("messages_dropped"),
        F.count_if(is_dropped & (F.col("reason") == EXPIRED)).alias("messages_expired"),
        F.min("time").alias("first_time"),
        F.max("time").alias("last_time"),
        F.max("batch").alias("batch"),
        worst_quality("time_quality").alias("time_quality"),
    )
    rows = found.join(_lags(events, segments), ["gateway", "day"], "left")
    rows = rows.fillna(0, ["segments"]).withColumn("offline_seconds", F.lit(0.0))
    return rows.select(*(F.col(f.name).cast(f.dataType).alias(f.name) for f in GATEWAY_HEALTH))


def _lags(events: DataFrame, segments: DataFrame) -> DataFrame:
    """Return the number of segments per gateway and day, with the median and the longest delay.

    The delay of a segment is the time from its last event to its ingestion. A segment whose times
    are unknown has no delay.
    """
    last = events.groupBy("gateway", "day", "segment_name").agg(
        F.max("time").alias("last"), worst_quality("time_quality").alias("quality_then")
    )
    known = segments.select(F.col("name").alias("segment_name"), "verified_at")
    lag = (F.unix_millis("verified_at") - F.unix_millis("last")) / 1000
    right = F.when(F.col("quality_then") != "unknown", F.greatest(lag, F.lit(0.0)))
    return (
        last.join(known, "segment_name", "left")
        .withColumn("lag", right)
        .groupBy("gateway", "day")
        .agg(
            F.count("*").alias("segments"),
            F.percentile_approx("lag", 0.5, PERCENTILE_ACCURACY).alias("lag_p50_seconds"),
            F.max("lag").alias("lag_max_seconds"),
        )
    )
