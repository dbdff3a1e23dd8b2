"""From SenML records to rows of `sensor_readings`, each reading once (docs/formats/readings.md)."""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.tables.schemas import READINGS

_BOARDS: Final = "board-"
"""What names of boards begin with, and no others: only boards number their own frames."""

_BOOT_BITS: Final = 32
"""A board's own number of its start has so many; what is above counts how often it was given."""


def _identity() -> Column:
    """Return the deduplication key of a reading: the sensor's numbers where it gave all."""
    numbered = (
        F.col("senml_device").isNotNull()
        & F.col("senml_boot").isNotNull()
        & F.col("senml_sequence").isNotNull()
    )
    # Two records of one payload may have one name (and two times): the position distinguishes them.
    by_sensor = F.to_json(
        F.array(
            *(
                F.col(column).cast("string")
                for column in ("senml_device", "senml_boot", "senml_sequence", "name", "position")
            )
        )
    )
    by_message = F.to_json(
        F.array("store", F.col("message").cast("string"), F.col("position").cast("string"))
    )
    return F.when(numbered, by_sensor).otherwise(by_message)


def readings_of(records: DataFrame, batch: int) -> DataFrame:
    """Select the records that are not refused as rows of `sensor_readings`."""
    is_ours = F.col("topic").startswith("sensors/")
    return records.where("wrong IS NULL").select(
        "gateway",
        _identity().alias("identity"),
        F.lit(batch).cast("long").alias("batch"),
        F.col("senml_device").alias("device"),
        F.col("senml_boot").alias("device_boot"),
        F.col("senml_sequence").alias("device_sequence"),
        "name",
        F.col("seconds").cast("timestamp").alias("time"),
        "value",
        F.col("senml_vs").alias("string_value"),
        F.col("senml_vb").alias("boolean_value"),
        F.col("senml_vd").alias("data_value"),
        "sum",
        "unit",
        "topic",
        F.when(is_ours, F.get(F.split("topic", "/"), F.lit(2))).alias("quantity"),
        "store",
        "message",
        "position",
        "boot",
        "sequence",
        F.col("time").alias("delivered_at"),
        "day",
        "clock",
        _board_start().alias("board_start"),
    )


def _board_start() -> Column:
    """Find which start it is that gave this number of a start again (docs/formats/readings.md)."""
    again = F.shiftright("senml_boot", _BOOT_BITS)
    return F.when(F.startswith("senml_device", F.lit(_BOARDS)) & (again > 0), again)


def first_readings(candidates: DataFrame) -> DataFrame:
    order = Window.partitionBy("gateway", "identity").orderBy("sequence", "boot", "position")
    ranked = candidates.withColumn("nth", F.row_number().over(order)).where("nth = 1")
    return ranked.select(*READINGS.fieldNames())


def new_readings(candidates: DataFrame, readings: DataFrame) -> DataFrame:
    """Select the candidates that are not in the table yet, each identity once."""
    known = readings.select("gateway", "identity")
    return (
        first_readings(candidates)
        .join(known, ["gateway", "identity"], "left_anti")
        .select(*READINGS.fieldNames())
    )


def conflicting_readings(candidates: DataFrame, readings: DataFrame) -> DataFrame:
    """Select candidates with the identity of a stored reading and another value, unit or time.

    A board whose counters began again looks like this: its readings must not vanish as repeats.
    """
    contents = [
        "name",
        "time",
        "value",
        "string_value",
        "boolean_value",
        "data_value",
        "sum",
        "unit",
    ]
    known = readings.select("gateway", "identity", F.struct(*contents).alias("known"))
    both = candidates.withColumn("contents", F.struct(*contents)).join(
        known, ["gateway", "identity"]
    )
    return both.where(~F.col("contents").eqNullSafe(F.col("known")))
