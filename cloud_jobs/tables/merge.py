"""Builder of MERGE statements in SQL. It has the same methods as Delta's own builder.

Delta's builder would need a plugin on a Spark Connect server, but SQL does not
(docs/decisions/0134).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from typing import Final, Self, TypeAlias

from pyspark.sql import DataFrame

_VIEWS: Final = count(1)
"""Numbers in the names of temporary views. A session has one name space for all its threads."""


class Merge:
    """Statement that merges rows (`new`) into the table at a path (`old`). `execute` runs it."""

    def __init__(self, path: str, rows: DataFrame, on: str) -> None:
        self._rows = rows
        self._view = f"oncegate_new_{next(_VIEWS)}"
        self._clauses = [
            f"MERGE INTO delta.`{quoted(path)}` AS old USING {self._view} AS new ON {on}"
        ]

    def whenMatchedUpdate(self, set: Mapping[str, str], condition: str | None = None) -> Self:
        """Add a clause that sets columns of matching rows in the table to SQL expressions."""
        changes = ", ".join(f"old.{name} = {value}" for name, value in set.items())
        return self._when("MATCHED", condition, f"UPDATE SET {changes}")

    def whenMatchedUpdateAll(self, condition: str | None = None) -> Self:
        """Add a clause that replaces all columns of matching rows in the table."""
        return self._when("MATCHED", condition, "UPDATE SET *")

    def whenMatchedDelete(self, condition: str | None = None) -> Self:
        """Add a clause that deletes matching rows from the table."""
        return self._when("MATCHED", condition, "DELETE")

    def whenNotMatchedInsertAll(self, condition: str | None = None) -> Self:
        """Add a clause that inserts rows without a matching row in the table."""
        return self._when("NOT MATCHED", condition, "INSERT *")

    def _when(self, which: str, condition: str | None, action: str) -> Self:
        where = f" AND ({condition})" if condition else ""
        self._clauses.append(f"WHEN {which}{where} THEN {action}")
        return self

    def execute(self) -> None:
        """Run the MERGE statement in the Spark session to which the new rows belong."""
        spark = self._rows.sparkSession
        self._rows.createOrReplaceTempView(self._view)
        try:
            spark.sql(" ".join(self._clauses))
        finally:
            spark.catalog.dropTempView(self._view)


Builder: TypeAlias = Merge
"""A MERGE to which clauses are added."""


@dataclass(frozen=True)
class MergeRule:
    """Rule for a MERGE statement: its clauses, and when rows of `old` and `new` match.

    `on` is the SQL condition for a match. `clauses` is a function that adds the clauses to the
    statement.
    """

    on: str
    clauses: Callable[[Builder], Builder]


def quoted(path: str) -> str:
    """Escape a path for use between backticks."""
    return path.replace("`", "``")


def literal(text: str) -> str:
    """Return a string as a literal of Spark SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
