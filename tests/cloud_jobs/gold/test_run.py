"""A run of `gold`: what it takes, once, and what stands then; read by other engines too."""

from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable, QueryBuilder

from cloud_jobs.gold.run import gold
from cloud_jobs.tables.gold_schemas import GOLD_TABLES
from cloud_jobs.tables.schemas import TABLES
from tests.cloud_jobs.conftest import Ingested, Place

pytestmark = pytest.mark.long


def test_a_run_with_nothing_new_changes_nothing(golden: Place) -> None:
    before = {name: golden.rows(name) for name in ("boots", "qos2_messages")}
    result = gold(golden.spark, golden.settings.tables, lambda _: None)
    assert (result["batches"], result["through_batch"]) == (0, 2)
    assert {name: golden.rows(name) for name in before} == before


def test_gaps_are_those_of_the_ingestion_and_verdicts_those_of_the_audit(
    golden: Place, ingested: Ingested, audit: dict[str, Any]
) -> None:
    gaps = golden.rows("gaps")
    assert len(gaps) == ingested.idle.gaps_count
    violating = {row["gateway"] for row in golden.rows("audit_daily", "verdict = 'violation'")}
    assert violating == {
        found["gateway"] for found in audit["exceptions"] if found["verdict"] == "violation"
    }


@pytest.mark.parametrize("name", [*TABLES, *GOLD_TABLES])
def test_other_engines_find_the_rows_that_spark_finds(golden: Place, name: str) -> None:
    place = Path(golden.settings.tables, name)
    expected = golden.rows(name)
    table = DeltaTable(str(place))
    columns = sorted(field.name for field in table.schema().fields)
    rows = _rows_of_deltalake(place, columns)
    assert rows == sorted(_plain(row.asDict(), columns) for row in expected)
    assert _rows_of_duckdb(place, columns) == rows


def _plain(row: dict[str, Any], columns: list[str]) -> str:
    """A row as text. Times are compared as moments: engines return them in zones of their own."""
    values = [row[name] for name in columns]
    moments = [v.astimezone().isoformat() if hasattr(v, "astimezone") else v for v in values]
    return repr(moments)


def _rows_of_deltalake(place: Path, columns: list[str]) -> list[str]:
    engine = QueryBuilder().register("t", DeltaTable(str(place)))
    table = engine.execute("SELECT * FROM t").read_all()
    values = {name: table[name].to_pylist() for name in columns}
    return sorted(
        _plain({name: values[name][n] for name in columns}, columns) for n in range(table.num_rows)
    )


def _rows_of_duckdb(place: Path, columns: list[str]) -> list[str]:
    """DuckDB's own reader of the files that the table's log names: its Delta extension has to be
    downloaded, which no test does."""
    files = DeltaTable(str(place)).file_uris()
    if not files:
        return []
    with duckdb.connect() as engine:
        engine.execute("SET timezone = 'UTC'")
        found = engine.execute(
            "SELECT * FROM read_parquet($1, hive_partitioning = true, union_by_name = true, "
            "hive_types = {'day': DATE})"
            if "day=" in files[0]
            else "SELECT * FROM read_parquet($1, union_by_name = true)",
            [files],
        )
        names = [column[0] for column in found.description]
        return sorted(
            _plain(dict.fromkeys(columns) | dict(zip(names, row, strict=True)), columns)
            for row in found.fetchall()
        )
