"""SQL over Delta tables without Spark: DataFusion, as the library `deltalake` brings it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from deltalake.exceptions import DeltaError

from cloud_jobs.places import local_directory

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
        for name in names:
            self._engine.register(name, DeltaTable(address_of(root, name)))

    def rows(self, sql: str) -> list[Row]:
        """Return a query's result. Raises READ_FAILURES."""
        found: list[Row] = pa.table(self._engine.execute(sql).read_all()).to_pylist()
        return found
