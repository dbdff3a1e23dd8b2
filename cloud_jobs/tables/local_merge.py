"""A MERGE into a table in a directory, by the library `deltalake`, without Spark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

import pyarrow as pa

from cloud_jobs.tables.adding import properties_of

if TYPE_CHECKING:
    from deltalake import DeltaTable


class LocalMerge:
    """A MERGE of rows (`new`) into a table (`old`), as `merge.Merge` is: expressions are in the SQL
    that Spark and DataFusion have in common. `execute` runs it, as one application transaction."""

    def __init__(
        self, table: DeltaTable, rows: pa.Table, on: str, application: str, version: int
    ) -> None:
        self._merger = table.merge(
            rows, on, "new", "old", commit_properties=properties_of(application, version, None)
        )

    def whenMatchedUpdate(self, set: Mapping[str, str], condition: str | None = None) -> Self:
        """Set these columns of a row that is there to SQL expressions."""
        self._merger.when_matched_update({**set}, condition)
        return self

    def whenMatchedUpdateAll(self, condition: str | None = None) -> Self:
        """Replace a row that is there."""
        self._merger.when_matched_update_all(condition)
        return self

    def whenMatchedDelete(self, condition: str | None = None) -> Self:
        """Remove a row that is there."""
        self._merger.when_matched_delete(condition)
        return self

    def whenNotMatchedInsertAll(self, condition: str | None = None) -> Self:
        """Add a row that is not there."""
        self._merger.when_not_matched_insert_all(condition)
        return self

    def execute(self) -> None:
        """Run it."""
        self._merger.execute()
