"""The job's Delta tables, and the one way to write to them.

Each write belongs to a numbered batch and carries the application transaction (`txnAppId` =
oncegate-ingest/<table>/<step>, `txnVersion` = batch). Delta records it in the very commit that
adds the rows and skips a write whose version it has seen: a step done twice is a step done once,
whichever run does it the second time, and two writers of one version conflict instead of both
succeeding.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, reduce
from threading import Lock
from typing import TYPE_CHECKING, Final

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, StructType

from cloud_jobs.errors import (
    ConflictError,
    IngestError,
    TablesBusyError,
    is_conflict,
    spark_failures,
)
from cloud_jobs.limits import COMMITS_LOOKED_AT_MAX, CONFLICT_RETRIES_MAX
from cloud_jobs.places import absolute, local_directory
from cloud_jobs.tables import adding
from cloud_jobs.tables.data_files import written_rows
from cloud_jobs.tables.merge import Merge, quoted
from cloud_jobs.tables.schemas import PARTITIONS, TABLES
from cloud_jobs.tables.versions import PROPERTY, Step, migrate, newest_of

if TYPE_CHECKING:
    from deltalake import DeltaTable

APPLICATION: Final = "oncegate-ingest"
_APP_CONF: Final = "spark.databricks.delta.write.txnAppId"
_FORMAT_CHECK_CONF: Final = "spark.databricks.delta.formatCheck.enabled"
_VERSION_CONF: Final = "spark.databricks.delta.write.txnVersion"
_NO_TABLE: Final = frozenset(
    {"PATH_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST", "DELTA_TABLE_NOT_FOUND"}
)


_merging: Final = Lock()
"""A session has one transaction and one view for a MERGE: one at a time. An append beside it names
its own."""


def each(rows: DataFrame, name: str | Column) -> DataFrame:
    """Return what `Tables.sums` needs to count these rows, by one name or each by its own."""
    label = F.lit(name) if isinstance(name, str) else name
    return rows.select(label.alias("name"), F.lit(1).cast("long").alias("number"))


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables under one root, those of ``schemas``."""

    spark: SparkSession
    root: str
    schemas: Mapping[str, StructType] = field(default_factory=lambda: TABLES)
    application: str = APPLICATION
    """Of the writes' transactions."""
    marker: str = "segments"
    """The table whose properties have the version."""
    steps: Mapping[int, Step] = field(default_factory=lambda: STEPS)
    """From each version to the next."""

    def path(self, name: str) -> str:
        return f"{absolute(self.root).rstrip('/')}/{name}"

    def create(self) -> None:
        """Make the tables that are not there, and bring those of an earlier version up to date.

        Raises IngestError when they are of a later version, or have other columns.
        """
        for name, schema in self.schemas.items():
            if self._schema_of(name) is None:
                self._make(name, schema)
        migrate(self, self.marker, self.steps)
        for name in self.schemas:
            if self._missing_columns(name):
                raise self._of_another_version(name)

    def add_columns(self) -> None:
        """Add the columns that came later, behind those that are there; rows have null in them."""
        for name in self.schemas:
            columns = self._missing_columns(name)
            if columns:
                added = ", ".join(f"{column} {kind.simpleString()}" for column, kind in columns)
                path = quoted(self.path(name))
                self.spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMNS ({added})")

    def _missing_columns(self, name: str) -> list[tuple[str, DataType]]:
        """Return what a table lacks. Raises IngestError where it has something else."""
        found = [(field.name, field.dataType) for field in self.read(name).schema]
        expected = [(field.name, field.dataType) for field in self.schemas[name]]
        if not found or found != expected[: len(found)]:
            raise self._of_another_version(name)
        return expected[len(found) :]

    def _of_another_version(self, name: str) -> IngestError:
        return IngestError(
            f"the table {self.path(name)} was written by another version of this job: "
            "give another tables directory (everything is ingested again into it)"
        )

    def remake(self) -> None:
        """Leave all tables without rows, and with today's columns: they are made again of others.

        Their transactions have to be of another application then.
        """
        for name, schema in self.schemas.items():
            writer = self.spark.createDataFrame([], schema).write.format("delta")
            writer.mode("overwrite").option("overwriteSchema", "true").save(self.path(name))

    def has(self, name: str) -> bool:
        """Return whether a table is there: tables of an earlier version have fewer."""
        is_there = adding.is_table(self.path(name))
        return self._schema_of(name) is not None if is_there is None else is_there

    def _schema_of(self, name: str) -> StructType | None:
        """Return the columns of a table as it is, None where there is none."""
        try:
            return self.read(name).schema
        except AnalysisException as error:
            if error.getCondition() not in _NO_TABLE:
                raise
            return None

    def _make(self, name: str, schema: StructType) -> None:
        columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema)
        partitions, version = ", ".join(PARTITIONS.get(name, ())), newest_of(self.steps)
        self.spark.sql(
            f"CREATE TABLE IF NOT EXISTS delta.`{quoted(self.path(name))}` ({columns}) USING DELTA"
            + (f" PARTITIONED BY ({partitions})" if partitions else "")
            + (f" TBLPROPERTIES ('{PROPERTY}' = '{version}')" if name == self.marker else "")
        )

    def remove(self, name: str) -> None:
        """Remove a table and its files; nothing happens when there is none."""
        directory = local_directory(self.path(name))
        if directory is not None:
            shutil.rmtree(directory, ignore_errors=True)
        elif self.has(name):
            self.empty(name)

    def empty(self, name: str) -> None:
        """Leave a file without rows where a table was, on any file system of Spark's.

        Spark has no command that removes a table which is in no catalog, but removes what it
        overwrites.
        """
        self.spark.conf.set(_FORMAT_CHECK_CONF, "false")
        try:
            nothing = self.spark.createDataFrame([], "line string")
            nothing.write.mode("overwrite").text(self.path(name))
        finally:
            self.spark.conf.unset(_FORMAT_CHECK_CONF)

    def read(self, name: str) -> DataFrame:
        return self.spark.read.format("delta").load(self.path(name))

    def sums(self, labelled: Iterable[DataFrame]) -> dict[str, int]:
        """Sum `number` for each `name` in one query: a query costs more than a sum."""
        found = reduce(DataFrame.unionByName, labelled).groupBy("name").agg(F.sum("number"))
        return {row[0]: row[1] for row in found.collect()}

    def append(self, name: str, rows: DataFrame, *, batch: int, step: str = "") -> None:
        """Add a batch's rows to a table, once however often this is called.

        With a `step` it is the transaction of a `merge` of that step: one of the two is done.
        """
        application = f"{self.application}/{name}/{step}".rstrip("/")
        contract = rows.select(*self.schemas[name].fieldNames())

        def write() -> None:
            writer = contract.write.format("delta").mode("append")
            writer = writer.option("txnAppId", application)
            writer = writer.option("userMetadata", self._of_batch(batch))
            writer.option("txnVersion", batch).save(self.path(name))

        self._commit(name, write)

    def add_files(self, name: str, table: DeltaTable, made: DataFrame, *, batch: int) -> None:
        """Add the files that workers make (rows of ADDED) to a table (`adding.writable`), once
        however often this is called; it is the transaction of an `append`."""
        self._add(name, table, made.collect, batch)

    def add_row(self, name: str, row: Mapping[str, object], *, batch: int) -> None:
        """Add a batch's one row to a table without partitions, as `append` does; without Spark
        where that can be."""
        schema, table = self.schemas[name], adding.writable(self.path(name))
        if table is None:
            values = tuple(row[column] for column in schema.fieldNames())
            self.append(name, self.spark.createDataFrame([values], schema), batch=batch)
            return
        folder = adding.folder_of(table)
        rows = pa.RecordBatch.from_pylist([dict(row)], to_arrow_schema(schema, timezone="UTC"))
        self._add(name, table, lambda: [written_rows(folder, rows)], batch)

    def _add(
        self,
        name: str,
        table: DeltaTable,
        make: Callable[[], Iterable[adding.Added]],
        batch: int,
    ) -> None:
        application, files = f"{self.application}/{name}", cache(make)

        def write() -> None:
            with adding.explained(self.path(name)):
                table.update_incremental()
                if not adding.has_seen(table, application, batch):
                    adding.add(table, files(), application, batch, self._of_batch(batch))

        self._commit(name, write)

    def has_appended(self, name: str, batch: int) -> bool:
        """Return whether a batch's append is committed: one without rows leaves nothing else.

        Batches come one behind the other, so it is among the last commits; those that an operator
        makes in between (OPTIMIZE, VACUUM) are passed over.
        """
        path = quoted(self.path(name))
        commits = self.spark.sql(f"DESCRIBE HISTORY delta.`{path}` LIMIT {COMMITS_LOOKED_AT_MAX}")
        return not commits.where(F.col("userMetadata") == self._of_batch(batch)).isEmpty()

    def _of_batch(self, batch: int) -> str:
        """Return the user metadata of a batch's commits that append."""
        return f"{self.application} batch {batch}"

    def merge(
        self,
        name: str,
        rows: DataFrame,
        *,
        on: str,
        batch: int,
        clauses: Callable[[Merge], Merge],
        step: str = "merge",
    ) -> None:
        """Merge a batch's rows (`new`) into a table (`old`), once however often this is called."""
        contract = rows.select(*self.schemas[name].fieldNames())

        def write() -> None:
            with _merging, self._transaction(name, step, batch):
                clauses(Merge(self.path(name), contract, on)).execute()

        self._commit(name, write)

    @contextmanager
    def _transaction(self, name: str, step: str, batch: int) -> Iterator[None]:
        # MERGE takes the transaction from the session, not from an option.
        self.spark.conf.set(_APP_CONF, f"{self.application}/{name}/{step}")
        self.spark.conf.set(_VERSION_CONF, str(batch))
        try:
            yield
        finally:
            self.spark.conf.unset(_APP_CONF)
            self.spark.conf.unset(_VERSION_CONF)

    def _commit(self, name: str, write: Callable[[], None]) -> None:
        failures: tuple[type[Exception], ...] = (*spark_failures(), ConflictError)
        for attempt in range(1, CONFLICT_RETRIES_MAX + 1):
            try:
                return write()
            except failures as error:
                if not is_conflict(error):
                    raise
                # The other writer may have committed this very batch: then the next try is skipped.
                if attempt == CONFLICT_RETRIES_MAX:
                    raise TablesBusyError(
                        f"another writer keeps changing the table {self.path(name)}: "
                        "wait until the other ingest has ended, then run this one again"
                    ) from error
        return None


STEPS: Final[Mapping[int, Step]] = {0: Tables.add_columns}
"""Of the ingested tables. Version 0 is of the time before versions: it has fewer columns."""
