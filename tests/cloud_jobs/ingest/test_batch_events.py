"""Events are appended without a lookup, except where files overlap."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from cloud_jobs.ingest.batch_events import Events
from cloud_jobs.ingest.trust import SignedFile
from cloud_jobs.tables import making
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.schemas import EVENTS
from tests.cloud_jobs.staged_files import staged_table
from tests.contract.segments import LogWriter, opened, readings


def test_events_that_may_be_there_already_are_looked_up_and_a_batch_adds_its_own_once(
    spark: SparkSession, tmp_path: Path
) -> None:
    tables = Tables(spark, str(tmp_path), {"events": EVENTS}, marker="events")
    making.create(tables)
    first = staged_table(tables, LogWriter("gw-1").seal([opened(), *readings(1)]))
    for _ in range(2):
        Events(tables, 1, first, []).commit()
    stored = {*spark.read.parquet(*tables.read("events").inputFiles()).columns}
    assert {"sequence", "qos", "batch"} <= stored <= {*EVENTS.fieldNames()} - {"port", "extra"}
    again = LogWriter("gw-1").seal([opened(), *readings(2)])
    file = SignedFile(again.name, "", again.name, "gw-1", 1, 1, 5, None)
    second = Events(tables, 2, staged_table(tables, again, name="_staging/2"), [file])
    for _ in range(2):
        second.commit()
    found = tables.read("events").orderBy("sequence").collect()
    assert [(row.sequence, row.batch) for row in found] == [(1, 1), (2, 1), (3, 1), (4, 2), (5, 2)]
    assert [rows.count() for rows in second.refused()] == [0]
