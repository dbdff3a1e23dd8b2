"""Rows of `segments` and `gateway_keys` that the driver keeps in memory during a run.

The rows decide which files are ingested. Each batch needs several queries for a few rows, and each
query through Spark takes a quarter of a second of processor time. The rows are kept in memory only
if no other run can write to the tables, and if there are at most SEGMENTS_HELD_MAX segments.
Otherwise Spark executes each query.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from threading import RLock
from typing import Any, Final

import pyarrow as pa

from cloud_jobs.limits import SEGMENTS_HELD_MAX
from cloud_jobs.spark.effort import small_effort
from cloud_jobs.spark.side_by_side import side_by_side
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.in_memory import InMemory
from cloud_jobs.tables.schemas import GATEWAY_KEYS
from cloud_jobs.tables.sql import Values

HELD: Final = {
    "segments": (
        "name", "state", "reason", "gateway", "boot", "store", "segment", "first_sequence",
        "last_sequence", "file_sha256", "previous_sha256", "lines", "bad_lines", "path",
        "public_key", "batch",
    ),
    "gateway_keys": tuple(name for name in GATEWAY_KEYS.fieldNames() if name != "added_at"),
}  # fmt: skip
"""Columns that are held in memory, by table."""


class KnownRows:
    """Cache for queries of the tables `segments` and `gateway_keys`.

    The first query loads the rows, unless `load` has loaded them before. Rows that the run appends
    are added to the cache. After any other change the rows are loaded again.
    """

    def __init__(self, tables: Tables, *, is_alone: bool = False) -> None:
        """Create an empty cache.

        Args:
            tables: the ingested tables.
            is_alone: True if no other run can write to the tables.
        """
        self._tables = tables
        self._is_holding = is_alone
        self._segments = 0
        self._memory: InMemory | None = None
        self._loading = RLock()

    def load(self) -> InMemory | None:
        """Load the rows into memory if necessary, and return them.

        Return None if the rows must not be kept in memory.
        """
        with self._loading:
            if self._memory is None and self._is_holding:
                found = self._read()
                self._segments = found["segments"].num_rows
                self._release_if_too_many()
                if self._is_holding:
                    self._memory = InMemory()
                    for name, rows in found.items():
                        self._memory.add(name, rows)
            return self._memory

    def query(self, sql: str, **values: Values) -> list[dict[str, Any]]:
        """Return the rows of a query. The parameters are the same as for `Tables.query`."""
        with self._loading:
            memory = self.load()
            if memory is not None:
                return memory.query(sql, **values)
        return self._tables.query(sql, **values)

    def add(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Add rows to the cache after they have been appended to the table `name`."""
        with self._loading:
            if self._memory is None:
                return
            if name == "segments":
                self._segments += len(rows)
            self._memory.append(name, HELD[name], rows)
            self._release_if_too_many()

    def forget(self) -> None:
        """Discard the cached rows.

        Call this after each change to the tables for which `add` was not called.
        """
        with self._loading:
            if self._memory is not None:
                self._memory.close()
            self._memory = None

    def _release_if_too_many(self) -> None:
        if self._segments > SEGMENTS_HELD_MAX:
            self._is_holding = False
            self.forget()

    def _read(self) -> dict[str, pa.Table]:
        """Read the rows with Spark, at most SEGMENTS_HELD_MAX + 1 of each table."""
        with small_effort(self._tables.spark), side_by_side() as submit:
            found = {
                name: submit(
                    self._tables.read(name).select(*columns).limit(SEGMENTS_HELD_MAX + 1).toArrow
                )
                for name, columns in HELD.items()
            }
        return {name: rows.result() for name, rows in found.items()}


def files_to_examine(
    known: Iterable[Mapping[str, Any]], paths: Iterable[str], settled: Iterable[str]
) -> list[dict[str, Any]]:
    """Return the landed files that must be examined.

    Each result has the file's `path` and the columns of its row in `known`. If the file is new and
    has no row, these columns are None.

    Args:
        known: rows of the table `segments`, with the columns `name`, `state`, `reason`, `gateway`,
            `public_key` and `refused_path`.
        paths: paths of the landed files.
        settled: final states. A file with such a state is not examined again.
    """
    rows = {row["name"]: row for row in known}
    done = {*settled}
    new = dict.fromkeys(("state", "reason", "gateway", "public_key", "refused_path"))
    found = []
    for path in paths:
        row = rows.get(path.rpartition("/")[2])
        if row is None or row["state"] not in done:
            found.append({**(row or new), "path": path})
    return found
