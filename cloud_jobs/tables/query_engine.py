"""SQL over Delta tables without Spark: DataFusion, as the library `deltalake` brings it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder

from cloud_jobs.places import local_directory

Row = dict[str, Any]


def address_of(root: str, name: str) -> str:
    """Return a table's address as `deltalake` reads it: Hadoop's scheme s3a is s3 there."""
    directory = local_directory(root)
    if directory is not None:
        return str((directory / name).absolute())
    return f"{root.rstrip('/')}/{name}".replace("s3a://", "s3://", 1)


class QueryEngine:
    """Tables below one directory or URL, each under its own name in SQL."""

    def __init__(self, root: str, names: Iterable[str]) -> None:
        """Open the tables. Raises DeltaError, OSError, ValueError."""
        self.root = root
        self._engine = QueryBuilder()
        for name in names:
            self._engine.register(name, DeltaTable(address_of(root, name)))

    def table(self, sql: str) -> pa.Table:
        """Return a query's result as columns. Raises DeltaError, OSError, ValueError."""
        return pa.table(self._engine.execute(sql).read_all())

    def rows(self, sql: str) -> list[Row]:
        """Return a query's result as rows. Raises as `table`."""
        found: list[Row] = self.table(sql).to_pylist()
        return found
