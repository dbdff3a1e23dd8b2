"""Tables whose few rows are read once, and then queried in the driver's memory.

For each scan of a Delta table, Spark first queries the table's log. A run has many queries of the
same tables, so with few events this takes a fifth of the time (docs/decisions/0188).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from threading import Lock

from pyspark.sql import DataFrame

from cloud_jobs.spark.few_rows import as_values
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.merge import MergeRule


@dataclass(frozen=True, slots=True)
class HeldTables(Tables):
    """Tables that one run reads and writes. The rows of a table are held until the run writes it.

    Create an object for each run, because it does not notice writes by others.
    """

    large: frozenset[str] = frozenset()
    """Tables with too many rows to hold."""
    _held: dict[str, DataFrame] = field(default_factory=dict)
    _reading: dict[str, Lock] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._reading.update((name, Lock()) for name in self.schemas)

    def read(self, name: str) -> DataFrame:
        """Return the rows of a table. If there are more than VALUES_MAX, Spark reads the table."""
        # A dataclass with slots is a copy of the class in which `super()` would look up.
        if name in self.large:
            return Tables.read(self, name)
        with self._reading[name]:
            if name not in self._held:
                self._held[name] = as_values(Tables.read(self, name))
            return self._held[name]

    def merge(
        self,
        name: str,
        rows: DataFrame,
        rule: MergeRule,
        *,
        batch: int,
        step: str = "merge",
        is_stable: bool = False,
    ) -> None:
        """Merge a batch's rows into a table (see `Tables.merge`)."""
        if name not in self.large:
            held = as_values(rows)
            # Rows in memory do not change, so Spark does not store a copy of them first.
            rows, is_stable = held, is_stable or held is not rows
        Tables.merge(self, name, rows, rule, batch=batch, step=step, is_stable=is_stable)

    def changed(self, name: str) -> None:
        """Release the rows of a table that was written."""
        with self._reading[name]:
            self._held.pop(name, None)


def held_tables(tables: Tables, large: Iterable[str] = ()) -> HeldTables:
    """Return the tables for one run, which holds their rows, except those of `large` tables."""
    return HeldTables(
        tables.spark, tables.root, tables.schemas, tables.application, tables.marker,
        tables.version, tables.views, frozenset(large),
    )  # fmt: skip
