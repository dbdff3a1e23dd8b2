"""The totals of all batches equal the counts in the tables."""

from __future__ import annotations

from dataclasses import replace

from pyspark.sql import functions as F

from cloud_jobs.ingest import totals
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.schemas import BATCHES
from tests.cloud_jobs.conftest import Ingested


def test_the_batches_counts_add_up_to_the_rows_of_the_tables(ingested: Ingested) -> None:
    batches = ingested.place.rows("batches")
    assert sum(row.events_new for row in batches) == len(ingested.place.rows("events"))
    assert sum(row.readings_new for row in batches) == len(ingested.place.rows("sensor_readings"))
    tables = Tables(ingested.place.spark, ingested.place.settings.tables)
    newest = max(batches, key=lambda row: row.batch)
    assert newest.quarantined == tables.read("quarantine").where(F.col("batch") == 2).count()
    counted = totals.Counted(
        good_lines=newest.events_new, records=9, readings_new=4, segments={"quarantined": 2}
    )
    row = totals.row_of(tables, newest.batch, counted)
    assert [*row] == BATCHES.fieldNames()
    assert (row["events_new"], row["readings_new"]) == (newest.events_new, 4)
    assert row["segments_quarantined"] == 2
    known = replace(counted, segments={"ingested": 3}, events_new=2, is_refusing=False)
    row = totals.row_of(tables, newest.batch, known)
    assert (row["segments_ingested"], row["events_new"], row["quarantined"]) == (3, 2, 0)
