"""What is written as data files are the rows that Spark is given, whoever writes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from cloud_jobs.ingest import staged
from cloud_jobs.ingest.reading_columns import reading_columns
from cloud_jobs.ingest.readings import readings_of
from cloud_jobs.ingest.staged import (
    Staged,
    event_files_of,
    events_of,
    reading_files_of,
    records_of,
    sessions_here,
    sessions_of,
)
from cloud_jobs.ingest.trust import Refusal
from cloud_jobs.tables.delta_tables import Made, Tables
from tests.cloud_jobs.staged_files import staged_table
from tests.contract.segments import Segment, numbered, opened, readings, sealed

BATCH = 3
DAY_MS = 86_400_000


@pytest.fixture(params=["this process", "workers"])
def files(
    spark: SparkSession,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
) -> Staged:
    """Files of two days, one without readings, and one that is refused."""
    began = 1_763_715_138_250
    segments = [
        sealed(numbered([opened(), *readings(3)], 1), first_sequence=1),
        sealed(numbered(readings(2), 20, began + DAY_MS), first_sequence=20, segment=2),
        sealed(numbered([opened()], 90), first_sequence=90, segment=3),
    ]
    refused = Segment(segments[0].name, b"wrong")
    if request.param == "workers":
        monkeypatch.setattr(staged, "HERE_BATCH_BYTES_MAX", 0)
    found = staged_table(Tables(spark, str(tmp_path)), *segments, refused)
    assert found.is_here == (request.param != "workers")
    return found


def written_to(folder: Path, made: Made) -> list[dict[str, object]]:
    """What a reader of the files that are named finds, by Delta's rules."""
    found = []
    for file in made():
        rows = pq.read_table(folder / file["path"], partitioning=None).to_pylist()
        assert len(rows) == file["rows"]
        found += [row | {"day": file["day"]} for row in rows]
    return sorted(found, key=repr)


def rows_of(frame: DataFrame) -> list[dict[str, object]]:
    return sorted(frame.toArrow().to_pylist(), key=repr)


def test_events_are_written_as_spark_is_given_them(files: Staged, tmp_path: Path) -> None:
    rows = written_to(tmp_path, event_files_of(files, BATCH, tmp_path))
    assert len(rows) == 1 + 6 + 4 + 1
    assert rows == rows_of(events_of(files, BATCH))


def test_readings_are_written_as_spark_is_given_them_and_those_of_two_files_beside_them(
    files: Staged, tmp_path: Path
) -> None:
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


def test_sessions_are_those_that_spark_is_given_unless_they_are_many(
    files: Staged, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = sessions_here(files)
    assert found is not None
    assert sorted(found.to_pylist(), key=repr) == rows_of(sessions_of(files))
    assert sessions_here(replace(files, is_local=False)) is None
    with monkeypatch.context() as patch:
        patch.setattr(staged, "SESSIONS_HERE_MAX", found.num_rows - 1)
        assert sessions_here(files) is None
    monkeypatch.setattr(staged, "SESSIONS_HERE_BYTES_MAX", 1_000)
    assert sessions_here(files) is None


@pytest.mark.parametrize(
    "left_out",
    [
        lambda files: files.without([Refusal(one["path"], "r", "d") for one in files.files[:2]]),
        lambda files: files.without(gateways=frozenset({"gw-1"})),
    ],
)
def test_refused_files_and_left_out_gateways_have_no_contents_for_either(
    left_out: Callable[[Staged], Staged], files: Staged, tmp_path: Path
) -> None:
    some = left_out(files)
    rows = written_to(tmp_path, event_files_of(some, BATCH, tmp_path))
    assert rows == rows_of(events_of(some, BATCH))
    assert len(rows) < 12
