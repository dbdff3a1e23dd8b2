"""MERGE as SQL, built like Delta's own builder.

Delta's builder needs a plugin in a server of Spark Connect, SQL needs none (docs/decisions/0134).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, Self, TypeAlias

from pyspark.sql import DataFrame

_VIEW: Final = "oncegate_new"


class Merge:
    """A MERGE of rows (`new`) into the table at a path (`old`); `execute` runs it."""

    def __init__(self, path: str, rows: DataFrame, on: str) -> None:
        self._rows = rows
        self._clauses = [f"MERGE INTO delta.`{quoted(path)}` AS old USING {_VIEW} AS new ON {on}"]

    def whenMatchedUpdate(self, set: Mapping[str, str], condition: str | None = None) -> Self:
        """Set these columns of a row that is there to SQL expressions."""
        changes = ", ".join(f"old.{name} = {value}" for name, value in set.items())
        return self._when("MATCHED", condition, f"UPDATE SET {changes}")

    def whenMatchedUpdateAll(self, condition: str | None = None) -> Self:
        """Replace a row that is there."""
        return self._when("MATCHED", condition, "UPDATE SET *")

    def whenMatchedDelete(self, condition: str | None = None) -> Self:
        """Remove a row that is there."""
        return self._when("MATCHED", condition, "DELETE")

    def whenNotMatchedInsertAll(self, condition: str | None = None) -> Self:
        """Add a row that is not there."""
        return self._when("NOT MATCHED", condition, "INSERT *")

    def _when(self, which: str, condition: str | None, action: str) -> Self:
        where = f" AND ({condition})" if condition else ""
        self._clauses.append(f"WHEN {which}{where} THEN {action}")
        return self

    def execute(self) -> None:
        """Run it."""
        self._rows.createOrReplaceTempView(_VIEW)
        self._rows.sparkSession.sql(" ".join(self._clauses))


Builder: TypeAlias = Merge
"""A MERGE whose clauses are being added."""


def quoted(path: str) -> str:
    """Return a path quoted for backticks."""
    return path.replace("`", "``")


def literal(text: str) -> str:
    """Return a text as a literal of SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
