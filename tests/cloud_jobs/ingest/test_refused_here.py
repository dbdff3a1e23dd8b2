"""Rows of `quarantine` are those that Spark makes, and a flood of refusals is counted."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import to_arrow_schema

from cloud_jobs.ingest import quarantine, refused_here
from cloud_jobs.ingest.batch_records import Records, records_in
from cloud_jobs.ingest.refused_here import bounded, rows_of
from cloud_jobs.ingest.split import Split
from cloud_jobs.ingest.staged import records_of
from cloud_jobs.ingest.trust import Refusal
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.schemas import QUARANTINE, RECORDS
from tests.cloud_jobs.landings import flooded, senml_events
from tests.cloud_jobs.staged_files import staged_table
from tests.contract.segments import LogWriter

MOST = 3


def row(sequence: int, **values: Any) -> dict[str, Any]:
    made = dict.fromkeys(QUARANTINE.fieldNames())
    return made | {"batch": 1, "kind": "line", "gateway": "gw-1", "reason": "why", "refused": 1,
                   "sequence": sequence} | values  # fmt: skip


@pytest.mark.parametrize("count", [MOST - 1, MOST, MOST + 1, MOST + 2, MOST + 9])
def test_a_flood_is_bounded_as_spark_bounds_it(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    for module in (quarantine, refused_here):
        monkeypatch.setattr(module, "QUARANTINE_ROWS_MAX", MOST)
    rows = [row(n, detail=f"detail {n}", raw="x" * n, refused=1 + n % 3) for n in range(count)]
    rows += [row(n, kind="payload", boot="b", reason="other") for n in range(count)]
    rows += [row(50, segment_name="s", line=7), row(51, segment_name="s", line=None)]
    schema = to_arrow_schema(QUARANTINE, timezone="UTC")
    frame = spark.createDataFrame(pa.Table.from_pylist(rows, schema), QUARANTINE)
    expected = quarantine.bounded(frame).toArrow().to_pylist()
    found = list(bounded(reversed(rows)))
    assert sorted(found, key=repr) == sorted(expected, key=repr)
    assert sum(one["refused"] for one in found) == sum(one["refused"] for one in rows)


def test_spark_makes_them_where_they_are_many_or_something_is_twice(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = Tables(spark, str(tmp_path))
    tables.create()
    files = staged_table(tables, LogWriter("senml").seal(senml_events()), *flooded())
    wrong = records_of(files).where("wrong IS NOT NULL").count()
    nothing = pa.RecordBatch.from_pylist([], to_arrow_schema(RECORDS, timezone="UTC"))
    parts = Split(frozenset(), [], nothing)
    with records_in(tables, 1, files, parts) as records:
        known = replace(records, found=replace(records.found, wrong=wrong))
        rows = rows_of(files, known, 1)
        assert rows is not None
        assert {one["kind"] for one in rows} == {"line", "payload"}
        refused = [Refusal(files.files[0]["path"], "foreign_key", "detail")]
        rows = rows_of(files.without(refused), known, 1)
        assert rows is not None
        (file,) = (one for one in rows if one["kind"] == "segment")
        assert (file["reason"], file["detail"]) == ("foreign_key", "detail")
        assert rows_of(replace(files, is_local=False), known, 1) is None
        assert rows_of(files, _with_odd(known, spark), 1) is None
        monkeypatch.setattr(refused_here, "REFUSED_HERE_MAX", len(rows) - 1)
        assert rows_of(files, known, 1) is None


def _with_odd(records: Records, spark: SparkSession) -> Records:
    return replace(records, odd=spark.createDataFrame([], RECORDS))
