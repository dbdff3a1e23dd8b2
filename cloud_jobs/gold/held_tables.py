"""Tables whose few rows are read once, and then queried in the driver's memory.

For each scan of a Delta table, Spark first queries the table's log. A run has many queries of the
same tables, so with few events this takes a fifth of the time (docs/decisions/0188).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from threading import Lock

from pyspark.sql import DataFrame

from cloud_jobs.spark.few_rows import as_values
from cloud_jobs.tables.delta_tables import Tables


@dataclass(frozen=True, slots=True)
class HeldTables(Tables):
    """Tables that one run reads and writes. The rows of a table are held until the run writes it.

    Create an object for each run, because it does not notice writes by others.
    """

    large: frozenset[str] = frozenset()
    """Tables with too many rows to hold."""
    unread: frozenset[str] = frozenset()
    """Columns that the run does not read. They are not held."""
    _held: dict[str, DataFrame] = field(default_factory=dict)
    _reading: dict[str, Lock] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.schemas:
            self._reading.setdefault(name, Lock())

    def read(self, name: str) -> DataFrame:
        """Return the rows of a table. If they are too many to hold, Spark reads the table."""
        # A dataclass with slots is a copy of the class in which `super()` would look up.
        if name in self.large:
            return Tables.read(self, name)
        with self._reading[name]:
            if name not in self._held:
                rows = Tables.read(self, name).drop(*self.unread)
                self._held[name] = self.hold(name, rows)
            return self._held[name]

    def hold(self, name: str, rows: DataFrame) -> DataFrame:
        """Return rows of a table, in memory unless they are too many (see `as_values`)."""
        return rows if name in self.large else as_values(rows)

    def changed(self, name: str) -> None:
        """Release the rows of a table that was written."""
        with self._reading[name]:
            self._held.pop(name, None)


def held_tables(
    tables: Tables, large: Iterable[str] = (), unread: Iterable[str] = ()
) -> HeldTables:
    """Return the tables for one run, which holds their rows.

    The rows of `large` tables and the columns in `unread` are not held."""
    own = {one.name: getattr(tables, one.name) for one in fields(tables)}
    return HeldTables(**own, large=frozenset(large), unread=frozenset(unread))
