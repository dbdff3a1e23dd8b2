"""SQL queries of few rows in this process, without the time that Spark needs to plan them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Self

import pyarrow as pa

from cloud_jobs.tables.sql import Values, quoted_text, rendered


class InMemory:
    """Tables in memory, queried like `Tables`, in the SQL that SQLite and Spark have in common."""

    def __init__(self) -> None:
        # Threads use it one after the other: SQLite itself serialises them.
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.row_factory = sqlite3.Row
        self._database.create_function("greatest", 2, max, deterministic=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release all tables."""
        self._database.close()

    def add(self, name: str, rows: pa.Table) -> None:
        """Add a table with columns of integers and texts."""
        columns = rows.column_names
        self._database.execute(f"CREATE TABLE {name} ({', '.join(columns)})")
        self._insert(
            name, columns, zip(*(column.to_pylist() for column in rows.columns), strict=True)
        )

    def append(self, name: str, columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
        """Append rows to a table that has these columns."""
        values = (tuple(row.get(column) for column in columns) for row in rows)
        self._insert(name, columns, values)

    def _insert(self, name: str, columns: Sequence[str], values: Iterable[Sequence[Any]]) -> None:
        places = ", ".join("?" * len(columns))
        self._database.executemany(f"INSERT INTO {name} VALUES ({places})", values)

    def query(self, sql: str, **values: Values) -> list[dict[str, Any]]:
        """Return the rows of a query (`Tables.query`)."""
        text = rendered(sql, values, lambda name: name, quoted_text)
        return [dict(row) for row in self._database.execute(text)]
