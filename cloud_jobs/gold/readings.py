"""Sensor readings with corrected times.

If a gateway starts with a wrong time, the times of its readings are wrong too. They are corrected
with the table `clock_corrections`, like the times of events. A sensor's own clock can also be
wrong. If it is wrong by days, the time of delivery is used instead of the sensor's time.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cloud_jobs.gold.clock_steps import CORRECTED, SYNCHRONISED, UNKNOWN
from cloud_jobs.limits import DAY_MIN, SENSOR_CLOCK_DAYS_MAX, TEXT_CHARACTERS_MAX

SERIES: Final = ("gateway", "device", "name")
"""Columns that identify a quantity of a sensor, whose readings form one curve."""
QUARTER_SECONDS: Final = 900


def with_corrected_times(readings: DataFrame, corrections: DataFrame) -> DataFrame:
    """Return readings with corrected times, and with the start of their quarter hour (`begin`).

    The column `number` contains the value of a numeric, sum or Boolean reading, and `text` contains
    the value of a string reading. `corrections` are the rows of the table `clock_corrections`.
    """
    known = F.broadcast(corrections).select(
        F.col("gateway").alias("of_gateway"), F.col("boot").alias("of_boot"),
        "from_sequence", "to_sequence", "offset_ms",
    )  # fmt: skip
    here = (
        (F.col("gateway") == F.col("of_gateway"))
        & (F.col("boot") == F.col("of_boot"))
        & F.col("sequence").between(F.col("from_sequence"), F.col("to_sequence"))
    )
    time = _corrected_time(F.coalesce("offset_ms", F.lit(0)))
    quality = (
        F.when(F.col("clock") == SYNCHRONISED, SYNCHRONISED)
        .when(F.col("offset_ms").isNotNull(), CORRECTED)
        .otherwise(UNKNOWN)
    )
    begin = F.unix_seconds(time) - F.pmod(F.unix_seconds(time), F.lit(QUARTER_SECONDS))
    return readings.join(known, here, "left").select(
        *SERIES, "unit", "batch", "sequence", "position", "device_boot", "device_sequence",
        F.coalesce("value", "sum", F.col("boolean_value").cast("double")).alias("number"),
        F.substring("string_value", 1, TEXT_CHARACTERS_MAX).alias("text"),
        F.col("sum").isNotNull().alias("is_sum"),
        F.col("board_start").isNotNull().alias("is_repeat"),
        time.alias("time"),
        F.timestamp_seconds(begin).alias("begin"),
        F.greatest(F.to_date(time), F.lit(DAY_MIN)).alias("day"),
        quality.alias("time_quality"),
    )  # fmt: skip


def _corrected_time(offset: Column) -> Column:
    """Return an expression for the corrected time of a reading.

    Usually this is the sensor's time. If it differs from the time of delivery by more than
    SENSOR_CLOCK_DAYS_MAX days, the time of delivery is used. `offset` is the correction of the
    gateway's clock, in milliseconds.
    """
    delivered = F.unix_millis("delivered_at")
    own = F.coalesce(F.unix_millis("time"), delivered)
    # A time closer to the gateway's clock than to the correct time was taken from the gateway's
    # clock.
    by_gateway = F.abs(own - delivered) <= F.abs(own - delivered - offset)
    true = F.when(by_gateway, own + offset).otherwise(own)
    is_near = F.abs(true - delivered - offset) <= SENSOR_CLOCK_DAYS_MAX * 86_400_000
    return F.timestamp_millis(F.when(is_near, true).otherwise(delivered + offset))
