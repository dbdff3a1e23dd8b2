"""Data files of a Delta table, written by the Python worker that has their rows as Arrow columns.

What goes through Spark is one row a file (ADDED); a commit then adds them all
(cloud_jobs.tables.adding). No reader sees a file before that; `vacuum` removes the files of a run
that died.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql.pandas.types import to_arrow_schema

from cloud_jobs.limits import (
    FILE_BYTES_MAX,
    OPEN_FILES_PER_TASK_MAX,
    ROW_GROUP_BYTES,
    ROW_GROUP_ROWS,
)
from cloud_jobs.tables.schemas import schema_of

ADDED: Final = schema_of(
    """
    string  path
    integer bytes rows
    date    day
    string  statistics
    """
)
"""A data file: its path below the table, its partition where the table has some, and Delta's
statistics as JSON."""
_ARROW_ADDED: Final = to_arrow_schema(ADDED)
INDEXED_COLUMNS: Final = 32
"""Delta's default of `delta.dataSkippingNumIndexedCols`: so many columns have statistics."""
CHARACTERS_MAX: Final = 32
"""A longer least or greatest value of a text is left out: it is then not known."""


class DataFile:
    """One Parquet file that is being written, and what is known of its rows."""

    def __init__(
        self,
        folder: Path,
        day: date | None,
        schema: pa.Schema,
        group_bytes: int = ROW_GROUP_BYTES,
    ) -> None:
        self._day = day
        self._group_bytes = group_bytes
        partition = f"day={day.isoformat()}/" if day else ""
        self._path = f"{partition}part-{uuid.uuid4()}.zstd.parquet"
        self._file = folder / self._path
        self._file.parent.mkdir(parents=True, exist_ok=True)
        self._parquet = pq.ParquetWriter(self._file, schema, compression="zstd")
        self._waiting: list[pa.RecordBatch] = []
        self._rows_waiting = self._bytes_waiting = 0
        self._rows = 0
        self._nulls = dict.fromkeys(schema.names[:INDEXED_COLUMNS], 0)
        self._ends: dict[str, tuple[Any, Any]] = {}

    @property
    def is_full(self) -> bool:
        return self._file.stat().st_size >= FILE_BYTES_MAX

    def write(self, rows: pa.RecordBatch) -> None:
        self._waiting.append(rows)
        self._rows_waiting += rows.num_rows
        self._bytes_waiting += rows.nbytes
        if self._rows_waiting >= ROW_GROUP_ROWS or self._bytes_waiting >= self._group_bytes:
            self._write_group()

    def _write_group(self) -> None:
        group = pa.Table.from_batches(self._waiting)
        self._waiting, self._rows_waiting, self._bytes_waiting = [], 0, 0
        self._parquet.write_table(group, row_group_size=group.num_rows)
        self._rows += group.num_rows
        for name in self._nulls:
            self._note(name, group.column(name))

    def _note(self, name: str, column: pa.ChunkedArray) -> None:
        """Take a column's values into the statistics."""
        self._nulls[name] += column.null_count
        if column.null_count == len(column) or not _is_compared(column.type):
            return
        found = pc.min_max(column).as_py()
        least, greatest = self._ends.get(name, (found["min"], found["max"]))
        self._ends[name] = (min(least, found["min"]), max(greatest, found["max"]))

    def close(self) -> dict[str, Any]:
        """Have the file on disk; return it as a row of ADDED."""
        if self._waiting:
            self._write_group()
        self._parquet.close()
        with self._file.open("rb") as file:
            os.fsync(file.fileno())
            size = os.fstat(file.fileno()).st_size
        return {
            "path": self._path,
            "bytes": size,
            "rows": self._rows,
            "day": self._day,
            "statistics": json.dumps(self._statistics()),
        }

    def _statistics(self) -> dict[str, Any]:
        """Return what readers skip files by (Delta's protocol, Per-file Statistics)."""
        ends = {name: tuple(map(_as_json, both)) for name, both in self._ends.items()}
        return {
            "numRecords": self._rows,
            "minValues": {name: least for name, (least, _) in ends.items() if least is not None},
            "maxValues": {name: most for name, (_, most) in ends.items() if most is not None},
            "nullCount": self._nulls,
        }


def _is_compared(kind: pa.DataType) -> bool:
    """Return whether least and greatest values are kept: Spark has none of booleans, bytes and
    lists, and orders NaN in a way of its own."""
    is_other = (pa.types.is_boolean, pa.types.is_floating, pa.types.is_binary, pa.types.is_nested)
    return not any(is_kind(kind) for is_kind in is_other)


def _as_json(value: Any) -> Any:
    """Return a value as statistics have it; None where it is left out, and so not known."""
    if isinstance(value, str):
        return value if len(value) <= CHARACTERS_MAX else None
    if isinstance(value, date):  # and times
        return value.isoformat().replace("+00:00", "Z")
    return value


class DataFiles:
    """The files that one task writes, below a table's folder: one a day at a time."""

    def __init__(self, folder: Path, schema: pa.Schema) -> None:
        self._folder = folder
        self._schema = schema
        self._open: dict[date, DataFile] = {}
        self._closed: list[dict[str, Any]] = []

    def write(self, day: date, rows: pa.RecordBatch) -> None:
        """Add rows of a day."""
        file = self._open.pop(day, None) or DataFile(self._folder, day, self._schema)
        file.write(rows.select(self._schema.names))
        self._open[day] = file  # the last one of them
        if file.is_full:
            self._closed.append(self._open.pop(day).close())
        elif len(self._open) > OPEN_FILES_PER_TASK_MAX:
            self._closed.append(self._open.pop(next(iter(self._open))).close())

    def close(self) -> list[dict[str, Any]]:
        """Have all files on disk; return them as rows of ADDED."""
        self._closed += [file.close() for file in self._open.values()]
        self._open.clear()
        return self._closed


def written_rows(folder: Path, rows: pa.Table) -> list[dict[str, Any]]:
    """Write rows that the driver has, as `written_plain` does; return the files as ADDED."""
    (files,) = written_plain(folder, rows.schema, rows.to_batches())
    found: list[dict[str, Any]] = files.to_pylist()
    return found


def written_plain(
    folder: Path,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
    group_bytes: int = ROW_GROUP_BYTES,
) -> Iterator[pa.RecordBatch]:
    """Write the rows of a table without partitions into files; yield the files as ADDED."""
    closed: list[dict[str, Any]] = []
    file = None
    for rows in batches:
        file = file or DataFile(folder, None, schema, group_bytes)
        file.write(rows)
        if file.is_full:
            closed.append(file.close())
            file = None
    if file is not None:
        closed.append(file.close())
    yield pa.RecordBatch.from_pylist(closed, _ARROW_ADDED)


def written(
    folder: Path, schema: pa.Schema, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Write rows into files below a table's folder, by their days; yield the files as ADDED.

    ``schema`` is that of the rows, with the partition's column `day`.
    """
    files = DataFiles(folder, pa.schema([field for field in schema if field.name != "day"]))
    for rows in batches:
        days = rows.column("day")
        for day in pc.unique(days):
            files.write(day.as_py(), rows.filter(pc.equal(days, day)))
    yield pa.RecordBatch.from_pylist(files.close(), _ARROW_ADDED)
