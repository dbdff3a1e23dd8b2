"""Gaps in the frame numbers of sensors.

A sensor numbers its frames, and the numbering begins again whenever the sensor restarts. If the
ingested readings lack a number, there are three possible reasons. The frame was lost before the
gateway recorded it, it was refused, or it is in a gap of the gateway's log. Frames that are missing
before the first known number or after the last one cannot be detected.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.tables.gold_schemas import GAPS

KIND: Final = "sensor"
_START: Final = ("gateway", "device", "device_boot")


def sensor_gaps_of(readings: DataFrame) -> DataFrame:
    """Find gaps in the frame numbers of sensors. Return them as rows of the table `gaps`.

    A gap is always between two frames that the sensor sent without a restart in between.
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
