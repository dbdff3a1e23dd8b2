"""SQL over Delta tables without Spark: DataFusion, as the library `deltalake` brings it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError

from cloud_jobs.places import local_directory
from cloud_jobs.tables.sql import Values, quoted_text, rendered

Row = dict[str, Any]
READ_FAILURES: Final = (DeltaError, OSError, ValueError)
"""Exceptions of tables that cannot be read: the engine raises ValueErrors, object stores raise
OSErrors."""
LINE_CHARACTERS_MAX: Final = 300
"""Characters shown of a failure: the engine may append its whole plan."""


def address_of(root: str, name: str) -> str:
    """Return a table's address as `deltalake` reads it: Hadoop's scheme s3a is s3 there."""
    directory = local_directory(root)
    if directory is not None:
        return str((directory / name).absolute())
    return f"{root.rstrip('/')}/{name}".replace("s3a://", "s3://", 1)


def first_line_of(failure: Exception) -> str:
    """Return the first line of a failure to read; the class where there is no text."""
    return (str(failure).strip().splitlines() or [type(failure).__name__])[0][:LINE_CHARACTERS_MAX]


class QueryEngine:
    """Tables below one directory or URL, each under its own name in SQL."""

    def __init__(self, root: str, names: Iterable[str]) -> None:
        """Open the tables. Raises READ_FAILURES."""
        self.root = root
        self._engine = QueryBuilder()
        self._tables = {name: DeltaTable(address_of(root, name)) for name in names}
        for name, table in self._tables.items():
            self._engine.register(name, table)

    def columns(self, name: str) -> list[str]:
        """Return the names of a table's columns."""
        return [field.name for field in self._tables[name].schema().fields]

    def properties(self, name: str) -> dict[str, str]:
        """Return a table's properties."""
        return dict(self._tables[name].metadata().configuration)

    def rows(self, sql: str) -> list[Row]:
        """Return a query's result. Raises READ_FAILURES."""
        found: list[Row] = self.table(sql).to_pylist()
        return found

    def table(self, sql: str) -> pa.Table:
        """Return a query's result as columns. Raises READ_FAILURES."""
        return pa.table(self._engine.execute(sql).read_all())

    def query(self, sql: str, **values: Values) -> list[Row]:
        """Return the rows of a query (`Tables.query`). Raises READ_FAILURES."""
        return self.rows(rendered(sql, values, lambda name: name, quoted_text))
