"""Tables as one run sees them: only the rows of its gateways, and few rows are read only once.

For each scan of a Delta table, Spark first queries the table's log. A run has many queries of the
same tables, so with few events this takes a fifth of the time (docs/decisions/0188). Few rows are
therefore queried in the driver's memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, fields, replace
from threading import Lock

from pyspark.sql import DataFrame

from cloud_jobs.spark.few_rows import as_values
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.merge import MergeRule, literal


@dataclass(frozen=True, slots=True)
class HeldTables(Tables):
    """Tables that one run reads and writes. The rows of a table are held until the run writes it.

    Rows of other gateways are not read, and are replaced only if a condition names them. Create an
    object for each run, because it does not notice writes by others.
    """

    large: frozenset[str] = frozenset()
    """Tables with too many rows to hold."""
    unread: frozenset[str] = frozenset()
    """Columns that the run does not read. They are not held."""
    gateways: frozenset[str] | None = None
    """The gateways of the run. None selects all gateways."""
    _held: dict[str, DataFrame] = field(default_factory=dict)
    _reading: dict[str, Lock] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in self.schemas:
            self._reading.setdefault(name, Lock())

    def read(self, name: str) -> DataFrame:
        """Return the rows of a table. If they are too many to hold, Spark reads the table."""
        # A dataclass with slots is a copy of the class in which `super()` would look up.
        if name in self.large:
            return self._own_rows(name)
        with self._reading[name]:
            if name not in self._held:
                self._held[name] = self.hold(name, self._own_rows(name).drop(*self.unread))
            return self._held[name]

    def _own_rows(self, name: str) -> DataFrame:
        rows, own = self.stored(name), self._own()
        return rows if own is None else rows.where(own)

    def _own(self, prefix: str = "") -> str | None:
        """Return the SQL condition for the rows of the run's gateways, or None for all rows.

        Delta does not read files without such rows.
        """
        if self.gateways is None:
            return None
        listed = ", ".join(map(literal, sorted(self.gateways)))
        return f"{prefix}gateway IN ({listed})"

    def update(self, name: str, rows: DataFrame, rule: MergeRule) -> None:
        """Merge rows of the run's gateways into a table (see `Tables.update`)."""
        own = self._own("old.")
        if own is not None:
            rule = replace(rule, on=f"({rule.on}) AND {own}")
        Tables.update(self, name, rows, rule)

    def replace(self, name: str, rows: DataFrame, where: str | None = None) -> None:
        """Replace the rows that match `where`, or all rows of the run's gateways, in one commit."""
        Tables.replace(self, name, rows, where or self._own())

    def hold(self, name: str, rows: DataFrame) -> DataFrame:
        """Return rows of a table, in memory unless they are too many (see `as_values`)."""
        return rows if name in self.large else as_values(rows)

    def changed(self, name: str) -> None:
        """Release the rows of a table that was written."""
        with self._reading[name]:
            self._held.pop(name, None)


def held_tables(
    tables: Tables,
    large: Iterable[str] = (),
    unread: Iterable[str] = (),
    gateways: frozenset[str] | None = None,
) -> HeldTables:
    """Return the tables for one run, which reads and replaces the rows of `gateways` (None: all).

    The rows of `large` tables and the columns in `unread` are not held.
    """
    own = {one.name: getattr(tables, one.name) for one in fields(tables)}
    return HeldTables(**own, large=frozenset(large), unread=frozenset(unread), gateways=gateways)
