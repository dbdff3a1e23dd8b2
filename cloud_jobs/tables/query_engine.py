"""Queries Delta tables with SQL but without Spark, using DataFusion from `deltalake`."""

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
"""Exceptions raised for tables that cannot be read. DataFusion raises ValueError, and object stores
raise OSError."""
LINE_CHARACTERS_MAX: Final = 300
"""Characters shown of an error message: DataFusion may append its whole query plan."""


def address_of(root: str, name: str) -> str:
    """Return a table's URL or path in the form that `deltalake` expects.

    The library uses the scheme s3 in place of Hadoop's s3a.
    """
    directory = local_directory(root)
    if directory is not None:
        return str((directory / name).absolute())
    return f"{root.rstrip('/')}/{name}".replace("s3a://", "s3://", 1)


def first_line_of(failure: Exception) -> str:
    """Return the first line of an error message, or the class name if the message is empty."""
    return (str(failure).strip().splitlines() or [type(failure).__name__])[0][:LINE_CHARACTERS_MAX]


class QueryEngine:
    """Query engine for the tables below one directory or URL.

    SQL statements refer to each table by its name.
    """

    def __init__(self, root: str, names: Iterable[str]) -> None:
        """Open the tables with these names.

        Raises one of the exceptions in READ_FAILURES if a table cannot be read.
        """
        self.root = root
        self._engine = QueryBuilder()
        self._tables = {name: DeltaTable(address_of(root, name)) for name in names}
        for name, table in self._tables.items():
            self._engine.register(name, table)

    def columns(self, name: str) -> list[str]:
        """Return the names of a table's columns."""
        return [field.name for field in self._tables[name].schema().fields]

    def properties(self, name: str) -> dict[str, str]:
        """Return the properties stored in a table's metadata."""
        return dict(self._tables[name].metadata().configuration)

    def rows(self, sql: str) -> list[Row]:
        """Return the rows of a query, as dictionaries.

        Raises one of the exceptions in READ_FAILURES if the query fails.
        """
        found: list[Row] = self.table(sql).to_pylist()
        return found

    def table(self, sql: str) -> pa.Table:
        """Return the result of a query as an Arrow table.

        Raises one of the exceptions in READ_FAILURES if the query fails.
        """
        return pa.table(self._engine.execute(sql).read_all())

    def query(self, sql: str, **values: Values) -> list[Row]:
        """Return the rows of a query. The parameters are the same as for `Tables.query`.

        Raises one of the exceptions in READ_FAILURES if the query fails.
        """
        return self.rows(rendered(sql, values, lambda name: name, quoted_text))
