"""Rows that workers read from staged files, without files that were refused later."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from cloud_jobs.ingest.staged import (
    Staged,
    events_of,
    readings_of,
    records_of,
)
from cloud_jobs.ingest.trust import Refusal
from cloud_jobs.tables.delta_tables import Tables
from tests.cloud_jobs.staged_files import staged_table
from tests.contract.segments import Segment, numbered, opened, readings, sealed

BATCH = 3
DAY_MS = 86_400_000


@pytest.fixture(scope="module")
def files(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Staged:
    """Files of two days: one without readings, and one that is refused."""
    began = 1_763_715_138_250
    segments = [
        sealed(numbered([opened(), *readings(3)], 1), first_sequence=1),
        sealed(numbered(readings(2), 20, began + DAY_MS), first_sequence=20, segment=2),
        sealed(numbered([opened()], 90), first_sequence=90, segment=3),
    ]
    refused = Segment(segments[0].name, b"wrong")
    root: Path = tmp_path_factory.mktemp("staged")
    return staged_table(Tables(spark, str(root)), *segments, refused)


def nothing(files: Staged) -> pa.RecordBatch:
    (none,) = records_of(files).where("false").toArrow().combine_chunks().to_batches() or [None]
    return none if none is not None else pa.RecordBatch.from_pylist([], _schema(files))


def _schema(files: Staged) -> pa.Schema:
    return records_of(files).toArrow().schema


def test_events_and_readings_are_of_the_batch_and_of_the_days_of_their_files(
    files: Staged,
) -> None:
    events = events_of(files, BATCH).toArrow().to_pylist()
    assert len(events) == 1 + 6 + 4 + 1
    made = readings_of(files, nothing(files), BATCH).toArrow().to_pylist()
    assert len(made) == 5
    for rows in (events, made):
        assert {row["batch"] for row in rows} == {BATCH}
        assert len({row["day"] for row in rows}) == 2


def test_records_of_two_files_are_readings_beside_those_of_one(files: Staged) -> None:
    found = records_of(files).where("senml_sequence = 2").toArrow()
    (paired,) = found.combine_chunks().to_batches()
    rows = readings_of(files, paired, BATCH).toArrow().to_pylist()
    assert len(rows) == 5 + paired.num_rows


@pytest.mark.parametrize(
    "left_out",
    [
        lambda files: files.without([Refusal(one["path"], "r", "d") for one in files.files]),
        lambda files: files.without(gateways=frozenset({"gw-1"})),
    ],
)
def test_refused_files_and_left_out_gateways_have_no_contents(
    left_out: Callable[[Staged], Staged], files: Staged
) -> None:
    some = left_out(files)
    for rows in (events_of(some, BATCH), records_of(some)):
        assert rows.isEmpty()
