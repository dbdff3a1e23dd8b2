"""What a batch did, as its row of `batches`: the commit that ends it."""

from __future__ import annotations

from collections import defaultdict

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cloud_jobs.ingest import quarantine
from cloud_jobs.tables.delta_tables import Tables, each
from cloud_jobs.tables.schemas import BATCHES


def row_of(
    tables: Tables, batch: int, *, good_lines: int, records: int, readings_new: int
) -> DataFrame:
    """Return the row, counted in the tables.

    Args:
        tables: with all the batch's rows.
        batch: its number.
        good_lines: of its trusted files.
        records: readings in its delivered messages.
        readings_new: those of them that were not there before.
    """
    mine = F.col("batch") == batch
    segment = F.concat(F.lit("segments_"), F.col("state"))
    found = tables.sums(
        [
            each(tables.read("segments").where(mine), segment),
            each(tables.read("events").where(mine), "events_new"),
            each(tables.read("sessions").where(mine), "sessions"),
            quarantine.sums_of(tables.read("quarantine").where(mine)),
        ]
    )
    count = defaultdict(int, found)
    count["readings_new"] = readings_new
    count["events_duplicate"] = good_lines - count["events_new"] - count["refused_event"]
    count["readings_duplicate"] = records - readings_new - count["refused_reading"]
    count["batch"] = batch
    names = [field.name for field in BATCHES if field.name != "finished_at"]
    return tables.spark.range(1).select(
        *(F.lit(count[name]).cast("long").alias(name) for name in names),
        F.current_timestamp().alias("finished_at"),
    )
