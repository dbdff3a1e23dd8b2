"""Staged files of a batch, and the conversion of their contents to rows.

Workers unpack the Arrow streams that `cloud_jobs.ingest.staging` has written, one file after
another. The batch number is passed to the workers as a function argument. If the query plan
contained it, Spark would compile the plan again for each batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from cloud_jobs.ingest.reading_columns import reading_columns
from cloud_jobs.ingest.trust import Refusal
from cloud_jobs.ingest.unpacking import (
    EVENT_CONSTANTS,
    EVENT_PARTS,
    Batches,
    unpacking,
    unpacking_events,
)
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.schemas import EVENTS, INDEXED_COLUMNS, READINGS, RECORDS, STAGED

_CONTENTS: Final = frozenset({"malformed", "events", "records"})
_VERDICTS: Final = tuple(name for name in STAGED.fieldNames() if name not in _CONTENTS)

File = Mapping[str, Any]
"""A row of STAGED without the binary contents."""


@dataclass(frozen=True)
class Staged:
    """The staged files of a batch. Files that were refused after staging are left out."""

    tables: Tables
    rows: DataFrame
    """All rows and columns of the staging table (STAGED)."""
    files: Sequence[File]
    """The rows as staged, without the binary contents."""
    refusals: Sequence[Refusal] = ()
    excluded: frozenset[str] = frozenset()
    """Gateways whose files are excluded."""

    def without(
        self, refusals: Sequence[Refusal] = (), gateways: frozenset[str] = frozenset()
    ) -> Staged:
        """Return the staged files without the files in `refusals` and the files of `gateways`."""
        return replace(
            self, refusals=[*self.refusals, *refusals], excluded=self.excluded | gateways
        )

    def with_content(self, content: str, *columns: str) -> DataFrame:
        """Return columns of the staged files that have a value in the column `content`.

        `content` is `malformed`, `events` or `records`. It is the last column of the result, and
        the other columns are given by the further arguments.
        """
        rows = self.rows.where(F.col(content).isNotNull())
        if self.refusals:
            rows = rows.where(~F.col("path").isin([refusal.path for refusal in self.refusals]))
        if self.excluded:
            rows = rows.where(~F.col("gateway").isin(sorted(self.excluded)))
        return rows.select(*columns, content)

    @property
    def with_malformed(self) -> DataFrame:
        """Select the staged files that have malformed lines, for `quarantine.refused_lines`."""
        of_file = ("reason", "name", "gateway", "boot", "file_sha256", "file_bytes")
        return self.with_content("malformed", *of_file)


def staged_files(tables: Tables, name: str) -> Staged:
    """Open a batch's staging table."""
    rows = tables.read(name)
    found = rows.select(*_VERDICTS).toArrow().to_pylist()
    return Staged(tables, rows, sorted(found, key=lambda file: file["path"]))


def events_of(staged: Staged, batch: int, columns: StructType = EVENTS) -> DataFrame:
    """Select the valid lines of staged files as rows of the table `events`.

    `columns` selects columns of the table; by default, the rows have all columns. The same event
    may occur twice in the result.
    """
    files = staged.with_content("events", *EVENT_PARTS)
    return files.mapInArrow(unpacking_events(batch, columns), columns)


def filled_columns(staged: Staged) -> StructType:
    """Return the columns of `events` that have a value in at least one valid line of a batch.

    Columns with statistics are always included. Without them, Delta could not skip the new files.
    """
    found = {*EVENT_CONSTANTS, *INDEXED_COLUMNS["events"]}
    for file in staged.files:
        found.update(file["fields"] or ())
    return StructType([field for field in EVENTS if field.name in found])


def records_of(staged: Staged) -> DataFrame:
    """Return the SenML records of messages whose events are all in one file."""
    return staged.with_content("records").mapInArrow(unpacking(RECORDS), RECORDS)


def readings_of(staged: Staged, paired: pa.RecordBatch, batch: int) -> DataFrame:
    """Convert the SenML records of a batch to rows of `sensor_readings`.

    Most records come from a single staged file. The records of messages whose events are in
    different files are passed in `paired`.
    """
    unpack = unpacking(RECORDS)

    def made(files: Batches) -> Batches:
        return (reading_columns(records, batch) for records in unpack(files))

    found = staged.with_content("records").mapInArrow(made, READINGS)
    if not paired.num_rows:
        return found
    others = pa.Table.from_batches([reading_columns(paired, batch)])
    return found.unionByName(staged.tables.spark.createDataFrame(others, READINGS))


def paired_of(tables: Tables, paired: pa.RecordBatch) -> DataFrame:
    """Return a DataFrame with the records of messages whose events are in different files."""
    return tables.spark.createDataFrame(pa.Table.from_batches([paired]), RECORDS)
