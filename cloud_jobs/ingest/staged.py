"""The files that a batch has staged, and what is made of them: by Spark's workers, or here.

A worker unpacks the Arrow streams that one has written (cloud_jobs.ingest.staging), file by file.
What a small batch has in a directory this process unpacks itself, by the same functions: a query of
Spark's takes longer than that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema

from cloud_jobs.ingest import gateway_keys
from cloud_jobs.ingest.earlier_staging import in_the_present_layout
from cloud_jobs.ingest.reading_columns import ARROW_READINGS, reading_columns
from cloud_jobs.ingest.session_parts import PARTS
from cloud_jobs.ingest.staged_parts import parts_of, reading
from cloud_jobs.ingest.trust import Refusal
from cloud_jobs.ingest.unpacking import ARROW_EVENTS, EVENT_PARTS, unpacking, unpacking_events
from cloud_jobs.limits import (
    FILES_AT_A_TIME,
    HERE_BATCH_BYTES_MAX,
    SESSIONS_HERE_BYTES_MAX,
    SESSIONS_HERE_MAX,
)
from cloud_jobs.tables.data_files import ADDED, written
from cloud_jobs.tables.delta_tables import Made, Tables
from cloud_jobs.tables.making import columns_of
from cloud_jobs.tables.schemas import EVENTS, RECORDS, STAGED

_CONTENTS: Final = frozenset({"malformed", "events", "sessions", "records"})
_VERDICTS: Final = tuple(name for name in STAGED.fieldNames() if name not in _CONTENTS)

File = Mapping[str, Any]
"""A row of STAGED without its contents."""
Batches = Iterator[pa.RecordBatch]


@dataclass(frozen=True)
class Staged:
    """The files of a batch, without what was refused of them since."""

    tables: Tables
    name: str
    """Of the table."""
    files: Sequence[File]
    """As they were staged."""
    is_local: bool
    """Whether this process can read their contents."""
    refusals: Sequence[Refusal] = ()
    left_out: frozenset[str] = frozenset()
    """Gateways."""

    @property
    def is_here(self) -> bool:
        """Whether this process unpacks them all, and not Spark's workers."""
        size = sum(file["file_bytes"] for file in self.files)
        return self.is_local and size <= HERE_BATCH_BYTES_MAX

    def without(self, refusals: Sequence[Refusal] = (), gateways: frozenset[str] = frozenset()
                ) -> Staged:  # fmt: skip
        """Return the same files without the contents of refused ones, and without gateways."""
        return replace(self, refusals=[*self.refusals, *refusals],
                       left_out=self.left_out | gateways)  # fmt: skip

    @cached_property
    def rows(self) -> DataFrame:
        """All of STAGED, for Spark."""
        rows = gateway_keys.without_refused(_rows_of(self.tables, self.name), self.refusals)
        return rows.where(~F.col("gateway").isin(*self.left_out)) if self.left_out else rows

    def with_content(self, content: str, *columns: str) -> DataFrame:
        """Select the files that have one of the contents."""
        return self.rows.where(f"{content} IS NOT NULL").select(*columns, content)

    def read(self, content: str, *columns: str) -> Batches:
        """Yield the same rows to this process."""
        left_out: list[str] = sorted(self.left_out)
        conditions = [f"{content} IS NOT NULL"]
        if self.refusals:
            conditions.append("path NOT IN :refused")
        if left_out:
            conditions.append("gateway NOT IN :left_out")
        return self.tables.stream(
            f"SELECT {', '.join((*columns, content))} FROM {{{self.name}}} "
            f"WHERE {' AND '.join(conditions)}",
            FILES_AT_A_TIME,
            refused=[refusal.path for refusal in self.refusals],
            left_out=left_out,
        )


def staged_files(tables: Tables, name: str) -> Staged:
    """Look at a batch's staging table."""
    columns = columns_of(tables, name)
    assert columns is not None, name
    if "outline" in columns.fieldNames():
        files = tables.query(f"SELECT {', '.join(_VERDICTS)} FROM {{{name}}}")
        is_local = tables.is_local(name)
    else:
        files = _rows_of(tables, name).select(*_VERDICTS).toArrow().to_pylist()
        is_local = False
    files.sort(key=lambda file: file["path"])
    return Staged(tables, name, files, is_local)


def _rows_of(tables: Tables, name: str) -> DataFrame:
    found = tables.read(name)
    if "outline" in found.columns:
        return found
    return in_the_present_layout(found)  # an earlier version staged it, and did not finish it


def events_of(staged: Staged, batch: int) -> DataFrame:
    """Select the good lines of staged files as rows of `events`; an identity may occur twice."""
    files = staged.with_content("events", *EVENT_PARTS)
    return files.mapInArrow(unpacking_events(batch), EVENTS)


def event_files_of(staged: Staged, batch: int, folder: Path) -> Made:
    """Return what writes those rows as data files below the folder of `events`."""
    unpack = unpacking_events(batch)

    def write(files: Batches) -> Batches:
        return written(folder, ARROW_EVENTS, unpack(files))

    return lambda: _added(staged, write, "events", *EVENT_PARTS)


def reading_files_of(staged: Staged, paired: pa.RecordBatch, batch: int, folder: Path) -> Made:
    """Return what writes the readings of staged files, and of ``paired`` records, as data files
    below the folder of `sensor_readings`."""
    unpack = unpacking(RECORDS)

    def write(files: Batches) -> Batches:
        rows = (reading_columns(records, batch) for records in unpack(files))
        return written(folder, ARROW_READINGS, rows)

    def made() -> list[dict[str, Any]]:
        files = _added(staged, write, "records")
        if paired.num_rows:
            files += _as_rows(written(folder, ARROW_READINGS, [reading_columns(paired, batch)]))
        return files

    return made


def _added(staged: Staged, write: Any, content: str, *columns: str) -> list[dict[str, Any]]:
    """Have files written; return them as rows of ADDED."""
    if staged.is_here:
        return _as_rows(write(staged.read(content, *columns)))
    if staged.is_local:
        refused = frozenset(refusal.path for refusal in staged.refusals)
        read = reading(columns, content, refused, staged.left_out)
        parts = pa.Table.from_pylist(parts_of(Path(staged.tables.path(staged.name))))
        rows = staged.tables.spark.createDataFrame(parts)
        made = rows.mapInArrow(lambda listed: write(read(listed)), ADDED)
    else:
        made = staged.with_content(content, *columns).mapInArrow(write, ADDED)
    return _as_rows(iter(made.toArrow().to_batches()))


def _as_rows(batches: Batches) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist()]


def sessions_of(staged: Staged) -> DataFrame:
    """Select what staged files say about sessions, as rows of PARTS."""
    return staged.with_content("sessions").mapInArrow(unpacking(PARTS), PARTS)


def sessions_here(staged: Staged) -> pa.Table | None:
    """Return the same rows as columns; None where Spark has to put them together: the tables are in
    no directory, or they are too many."""
    if not staged.is_local:
        return None
    found: list[pa.RecordBatch] = []
    rows = size = 0
    for files in staged.read("sessions"):
        size += files.nbytes
        if size > SESSIONS_HERE_BYTES_MAX:
            return None
        for parts in unpacking(PARTS)(iter([files])):
            rows += parts.num_rows
            if rows > SESSIONS_HERE_MAX:
                return None
            found.append(parts)
    return pa.Table.from_batches(found, to_arrow_schema(PARTS, timezone="UTC"))


def records_of(staged: Staged) -> DataFrame:
    """Select the SenML records of the messages that staged files have whole."""
    return staged.with_content("records").mapInArrow(unpacking(RECORDS), RECORDS)


def paired_of(tables: Tables, paired: pa.RecordBatch) -> DataFrame:
    """Return the records that the driver has put together of two files (split.Split) for Spark."""
    return tables.spark.createDataFrame(pa.Table.from_batches([paired]), RECORDS)
