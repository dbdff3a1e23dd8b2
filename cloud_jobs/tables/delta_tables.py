"""The job's Delta tables, and the one way to write to them.

Each write belongs to a numbered batch and carries the application transaction (`txnAppId` =
oncegate-ingest/<table>/<step>, `txnVersion` = batch). Delta records it in the very commit that
adds the rows and skips a write whose version it has seen: a step done twice is a step done once,
whichever run does it the second time, and two writers of one version conflict instead of both
succeeding.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from threading import Lock
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from cloud_jobs.errors import (
    ConflictError,
    TablesBusyError,
    is_conflict,
    spark_failures,
)
from cloud_jobs.limits import COMMITS_LOOKED_AT_MAX, CONFLICT_RETRIES_MAX, ROWS_AT_A_TIME
from cloud_jobs.places import absolute, local_directory
from cloud_jobs.tables import adding, making
from cloud_jobs.tables.data_files import written_rows
from cloud_jobs.tables.local_merge import LocalMerge
from cloud_jobs.tables.local_sql import Values, answer, readable, rendered, tables_in
from cloud_jobs.tables.merge import Builder, Merge, literal, quoted
from cloud_jobs.tables.schemas import TABLES
from cloud_jobs.tables.versions import Step
from cloud_jobs.when_needed import Session, WhenNeeded

if TYPE_CHECKING:
    from deltalake import DeltaTable

APPLICATION: Final = "oncegate-ingest"
_APP_CONF: Final = "spark.databricks.delta.write.txnAppId"
_FORMAT_CHECK_CONF: Final = "spark.databricks.delta.formatCheck.enabled"
_VERSION_CONF: Final = "spark.databricks.delta.write.txnVersion"
Made: TypeAlias = Callable[[], Iterable[adding.Added]]
"""Writes data files, and returns them."""

_merging: Final = Lock()
"""A session has one transaction and one view for a MERGE: one at a time. An append beside it names
its own."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables under one root, those of ``schemas``."""

    session: Session
    root: str
    schemas: Mapping[str, StructType] = field(default_factory=lambda: TABLES)
    application: str = APPLICATION
    """Of the writes' transactions."""
    marker: str = "segments"
    """The table whose properties have the version."""
    steps: Mapping[int, Step] = field(default_factory=lambda: STEPS)
    """From each version to the next."""
    asks_spark: bool = False
    """Also where tables are in a directory: what is asked for takes more memory than a process may
    have, which Spark's queries do not."""

    @property
    def spark(self) -> SparkSession:
        """The session, which starts where it is the first time that it is needed."""
        return self.session() if isinstance(self.session, WhenNeeded) else self.session

    def path(self, name: str) -> str:
        return f"{absolute(self.root).rstrip('/')}/{name}"

    def create(self) -> None:
        """Make the tables that are not there, and bring the others up to date: `making.create`."""
        making.create(self)

    def has(self, name: str) -> bool:
        """Return whether a table is there: tables of an earlier version have fewer."""
        return making.columns_of(self, name) is not None

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

    def is_local(self, name: str) -> bool:
        """Return whether a table is read without Spark."""
        return not self.asks_spark and readable(self.path(name)) is not None

    def query(self, sql: str, **values: Values) -> list[dict[str, Any]]:
        """Return the rows of a query, each by the names of its columns. Raises IngestError.

        ``sql`` is in the SQL that Spark and DataFusion have in common; a name in braces is a table,
        `:name` one of the ``values``. Where all tables are in a directory it is answered without
        Spark.
        """
        return [row for rows in self.stream(sql, **values) for row in rows.to_pylist()]

    def stream(
        self, sql: str, rows_at_a_time: int = ROWS_AT_A_TIME, /, **values: Values
    ) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a `query` as columns; without Spark they are not held together."""
        names = [] if self.asks_spark else tables_in(sql)
        found = {name: readable(self.path(name)) for name in names}
        local = {name: table for name, table in found.items() if table is not None}
        if local and len(local) == len(names):
            return answer(sql, local, values, rows_at_a_time)
        text = rendered(sql, values, lambda name: f"delta.`{quoted(self.path(name))}`", literal)
        return iter(self.spark.sql(text).toArrow().to_batches())

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

    def add_files(self, name: str, table: DeltaTable, made: Made, *, batch: int) -> None:
        """Add the files that ``made`` writes (rows of ADDED) to a table (`adding.writable`), once
        however often this is called; it is the transaction of an `append`."""
        self._add(name, table, made, batch)

    def add_rows(
        self, name: str, rows: Sequence[Mapping[str, Any]], *, batch: int, step: str = ""
    ) -> None:
        """Add rows that the driver has to a table without partitions, as `append` does; without
        Spark where that can be."""
        columns, table = self.columns(name, rows), adding.writable(self.path(name))
        if table is None:
            found = self.spark.createDataFrame(columns, self.schemas[name])
            self.append(name, found, batch=batch, step=step)
            return
        folder = adding.folder_of(table)
        self._add(name, table, lambda: written_rows(folder, columns), batch, step)

    def columns(self, name: str, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
        """Return rows of a table as its columns."""
        schema = to_arrow_schema(self.schemas[name], timezone="UTC")
        return pa.Table.from_pylist([dict(row) for row in rows], schema)

    def _add(self, name: str, table: DeltaTable, made: Made, batch: int, step: str = "") -> None:
        application, files = f"{self.application}/{name}/{step}".rstrip("/"), cache(made)
        of_batch = self._of_batch(batch)
        self._commit_here(
            name, table, application, batch,
            lambda: adding.add(table, files(), application, batch, of_batch),
        )  # fmt: skip

    def _commit_here(
        self, name: str, table: DeltaTable, application: str, batch: int, commit: Callable[[], None]
    ) -> None:
        """Commit without Spark, unless that transaction has been committed."""

        def write() -> None:
            with adding.explained(self.path(name)):
                table.update_incremental()
                if not adding.has_seen(table, application, batch):
                    commit()

        self._commit(name, write)

    def has_appended(self, name: str, batch: int) -> bool:
        """Return whether a batch's append is committed: one without rows leaves nothing else.

        Batches come one behind the other, so it is among the last commits; those that an operator
        makes in between (OPTIMIZE, VACUUM) are passed over.
        """
        table = readable(self.path(name))
        if table is not None:
            commits = table.history(COMMITS_LOOKED_AT_MAX)
            return any(one.get("userMetadata") == self._of_batch(batch) for one in commits)
        path = quoted(self.path(name))
        found = self.spark.sql(f"DESCRIBE HISTORY delta.`{path}` LIMIT {COMMITS_LOOKED_AT_MAX}")
        return not found.where(F.col("userMetadata") == self._of_batch(batch)).isEmpty()

    def _of_batch(self, batch: int) -> str:
        """Return the user metadata of a batch's commits that append."""
        return f"{self.application} batch {batch}"

    def merge(
        self,
        name: str,
        rows: DataFrame | pa.Table,
        *,
        on: str,
        batch: int,
        clauses: Callable[[Builder], Builder],
        step: str = "merge",
    ) -> None:
        """Merge a batch's rows (`new`) into a table (`old`), once however often this is called.

        Rows that the driver has are merged without Spark where that can be.
        """
        is_here = isinstance(rows, pa.Table)
        table = adding.writable(self.path(name)) if is_here else None
        if table is not None:
            application = f"{self.application}/{name}/{step}"
            self._commit_here(
                name, table, application, batch,
                lambda: clauses(LocalMerge(table, rows, on, application, batch)).execute(),
            )  # fmt: skip
            return
        found = self.spark.createDataFrame(rows, self.schemas[name]) if is_here else rows
        contract = found.select(*self.schemas[name].fieldNames())

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


STEPS: Final[Mapping[int, Step]] = {0: making.add_columns}
"""Of the ingested tables. Version 0 is of the time before versions: it has fewer columns."""
