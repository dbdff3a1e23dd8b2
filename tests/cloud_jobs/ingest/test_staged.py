"""What workers write as data files are the rows that Spark is given."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from cloud_jobs.ingest.reading_columns import reading_columns
from cloud_jobs.ingest.readings import readings_of
from cloud_jobs.ingest.staged import event_files_of, events_of, reading_files_of, records_of
from tests.cloud_jobs.staged_files import staged_frame
from tests.contract.segments import Segment, numbered, opened, readings, sealed

BATCH = 3
DAY_MS = 86_400_000


def staged(spark: SparkSession) -> DataFrame:
    """Files of two days, one without readings, and one that is refused."""
    began = 1_763_715_138_250
    segments = [
        sealed(numbered([opened(), *readings(3)], 1), first_sequence=1),
        sealed(numbered(readings(2), 20, began + DAY_MS), first_sequence=20, segment=2),
        sealed(numbered([opened()], 90), first_sequence=90, segment=3),
    ]
    refused = Segment(segments[0].name, b"wrong")
    return staged_frame(spark, *segments, refused)


def written_to(folder: Path, made: DataFrame) -> list[dict[str, object]]:
    """What a reader of the files that are named finds, by Delta's rules."""
    found = []
    for file in made.collect():
        rows = pq.read_table(folder / file["path"], partitioning=None).to_pylist()
        assert len(rows) == file["rows"]
        found += [row | {"day": file["day"]} for row in rows]
    return sorted(found, key=repr)


def rows_of(frame: DataFrame) -> list[dict[str, object]]:
    return sorted(frame.toArrow().to_pylist(), key=repr)


def test_events_are_written_as_spark_is_given_them(spark: SparkSession, tmp_path: Path) -> None:
    files = staged(spark)
    rows = written_to(tmp_path, event_files_of(files, BATCH, tmp_path))
    assert len(rows) == 1 + 6 + 4 + 1
    assert rows == rows_of(events_of(files, BATCH))


def test_readings_are_written_as_spark_is_given_them_and_those_of_two_files_beside_them(
    spark: SparkSession, tmp_path: Path
) -> None:
    files = staged(spark)
    found = records_of(files).where("senml_sequence = 2").toArrow()
    (paired,) = found.combine_chunks().to_batches()
    rows = written_to(tmp_path, reading_files_of(files, paired, BATCH, tmp_path))
    expected = rows_of(readings_of(records_of(files), BATCH))
    assert len(expected) == 5
    twice = reading_columns(paired, BATCH).to_pylist()
    assert rows == sorted([*expected, *twice], key=repr)
    assert {row["day"] for row in rows} == {row["day"] for row in expected}
    nothing = paired.slice(0, 0)
    alone = written_to(tmp_path, reading_files_of(files, nothing, BATCH, tmp_path))
    assert alone == expected
