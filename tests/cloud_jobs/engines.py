"""Rows of a Delta table as engines other than Spark read them, as strings that can be compared."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
from deltalake import DeltaTable, QueryBuilder


def plain(row: dict[str, Any], columns: list[str]) -> str:
    """Return a row as a string. Times are converted to UTC, because engines use different zones."""
    values = [row[name] for name in columns]
    moments = [v.astimezone().isoformat() if hasattr(v, "astimezone") else v for v in values]
    return repr(moments)


def columns_of(place: Path) -> list[str]:
    return sorted(field.name for field in DeltaTable(str(place)).schema().fields)


def rows_of_deltalake(place: Path) -> list[str]:
    columns = columns_of(place)
    engine = QueryBuilder().register("t", DeltaTable(str(place)))
    table = engine.execute("SELECT * FROM t").read_all()
    values = {name: table[name].to_pylist() for name in columns}
    return sorted(
        plain({name: values[name][n] for name in columns}, columns) for n in range(table.num_rows)
    )


def rows_of_duckdb(place: Path) -> list[str]:
    """Read the files that the table's log names with DuckDB's Parquet reader.

    DuckDB's Delta extension would have to be downloaded, which no test does.
    """
    files = DeltaTable(str(place)).file_uris()
    if not files:
        return []
    columns = columns_of(place)
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
            plain(dict.fromkeys(columns) | dict(zip(names, row, strict=True)), columns)
            for row in found.fetchall()
        )
