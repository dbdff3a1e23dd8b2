"""Segments as a batch's staged rows, without a landing directory and without Spark."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from cloud_jobs.ingest.staging import ARROW_STAGED, judging
from cloud_jobs.tables.schemas import STAGED
from tests.contract.segments import Segment

INPUT = pa.schema([("path", pa.string()), ("length", pa.int64()), ("content", pa.binary())])
SOURCE = "/landed"


def staged_rows(*segments: Segment) -> list[pa.RecordBatch]:
    """One row of STAGED a batch, of files in the folder `gw`."""
    rows = [
        {"path": f"file:{SOURCE}/gw/{one.name}", "length": len(one.content), "content": one.content}
        for one in segments
    ]
    return list(judging(SOURCE)(iter([pa.RecordBatch.from_pylist(rows, INPUT)])))


def staged_frame(spark: SparkSession, *segments: Segment) -> DataFrame:
    """The same rows for Spark."""
    return spark.createDataFrame(
        pa.Table.from_batches(staged_rows(*segments), ARROW_STAGED), STAGED
    )
