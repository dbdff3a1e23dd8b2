"""In-memory tables for queries of a few rows, without Spark's planning time."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import pyarrow as pa

from cloud_jobs.tables.sql import Values, quoted_text, rendered


class InMemory:
    """In-memory tables that are queried like `Tables`.

    Each query must be valid in both SQLite and Spark.
    """

    def __init__(self) -> None:
        # Threads use the connection one after the other. SQLite itself serialises them.
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.row_factory = sqlite3.Row
        self._database.create_function("greatest", 2, max, deterministic=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the database and release all tables."""
        self._database.close()

    def add(self, name: str, rows: pa.Table) -> None:
        """Create a table from Arrow rows. The columns contain integers or strings."""
        columns = rows.column_names
        self._database.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
        self._insert(
            name, columns, zip(*(column.to_pylist() for column in rows.columns), strict=True)
        )

    def append(self, name: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
        """Append rows to a table that has these columns. A missing value becomes null."""
        values = (tuple(row.get(column) for column in columns) for row in rows)
        self._insert(name, columns, values)

    def _insert(self, name: str, columns: Sequence[str], values: Iterable[Sequence[Any]]) -> None:
        places = ", ".join("?" * len(columns))
        self._database.executemany(f"INSERT INTO {name} VALUES ({places})", values)

    def query(self, sql: str, **values: Values) -> list[dict[str, Any]]:
        """Return the rows of a query. The parameters are the same as for `Tables.query`."""
        text = rendered(sql, values, lambda name: name, quoted_text)
        return [dict(row) for row in self._database.execute(text)]
