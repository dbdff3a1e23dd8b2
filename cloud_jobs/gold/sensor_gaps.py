"""Gaps in the numbers that sensors give their frames, found in the readings that have landed.

The numbering begins again whenever the sensor starts. If a number between two existing ones is
missing, the frame was lost before it reached the gateway's log, or falls into a gap in the log.
Frames that are missing before the first or after the last number cannot be detected.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.tables.gold_schemas import GAPS

KIND: Final = "sensor"
_START: Final = ("gateway", "device", "device_boot")


def sensor_gaps_of(readings: DataFrame) -> DataFrame:
    """Return rows of the table `gaps`, from the frame numbers that sensors sent.

    Each row is one gap in the numbers of a sensor after one of its starts.
    """
    numbered = readings.where(
        "device IS NOT NULL AND device_boot IS NOT NULL AND device_sequence IS NOT NULL"
    )
    # A frame carries several records under one number.
    frames = numbered.groupBy(*_START, "device_sequence").agg(F.min("day").alias("day"))
    before = F.lag("device_sequence").over(Window.partitionBy(*_START).orderBy("device_sequence"))
    holes = frames.withColumn("before", before).where("device_sequence > before + 1")
    detail = F.concat(
        F.lit("readings of "), "device", F.lit(" in its start "), "device_boot",
        F.lit(": lost before the gateway recorded them, refused, or in a gap of its log"),
    )  # fmt: skip
    found = holes.withColumns(
        {
            "kind": F.lit(KIND),
            "segment": F.lit(None),
            "from_sequence": F.col("before") + 1,
            "to_sequence": F.col("device_sequence") - 1,
            "missing": F.col("device_sequence") - F.col("before") - 1,
            "detail": detail,
        }
    )
    return found.select(*(F.col(f.name).cast(f.dataType).alias(f.name) for f in GAPS))
