"""The job's Delta tables, and the one way to write to them.

Each write belongs to a numbered batch and carries the application transaction (`txnAppId` =
oncegate-ingest/<table>/<step>, `txnVersion` = batch). Delta records it in the very commit that
adds the rows and skips a write whose version it has seen: a step done twice is a step done once,
whichever run does it the second time, and two writers of one version conflict instead of both
succeeding.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Final

from delta.exceptions import DeltaConcurrentModificationException
from delta.tables import DeltaMergeBuilder, DeltaTable
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import DataType

from cloud_jobs.errors import IngestError
from cloud_jobs.limits import COMMITS_LOOKED_AT_MAX, CONFLICT_RETRIES_MAX
from cloud_jobs.places import local_directory
from cloud_jobs.tables.schemas import PARTITIONS, TABLES

APPLICATION: Final = "oncegate-ingest"
_APP_CONF: Final = "spark.databricks.delta.write.txnAppId"
_FORMAT_CHECK_CONF: Final = "spark.databricks.delta.formatCheck.enabled"
# The user metadata of a commit that appends, before the number of its batch.
_OF_BATCH: Final = f"{APPLICATION} batch "
_VERSION_CONF: Final = "spark.databricks.delta.write.txnVersion"


def each(rows: DataFrame, name: str | Column) -> DataFrame:
    """Return what `Tables.sums` needs to count these rows, by one name or each by its own."""
    label = F.lit(name) if isinstance(name, str) else name
    return rows.select(label.alias("name"), F.lit(1).cast("long").alias("number"))


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables under one root."""

    spark: SparkSession
    root: str

    def path(self, name: str) -> str:
        return f"{self.root.rstrip('/')}/{name}"

    def create(self) -> None:
        """Make the tables that are not there, and add the columns that came later to those of an
        earlier version, behind their own. Raises IngestError when one has other columns."""
        for name, schema in TABLES.items():
            if not self.has(name):
                builder = DeltaTable.createIfNotExists(self.spark).location(self.path(name))
                builder = builder.addColumns(schema).partitionedBy(*PARTITIONS.get(name, ()))
                builder.execute()
            found = [(field.name, field.dataType) for field in self.read(name).schema]
            expected = [(field.name, field.dataType) for field in schema]
            if found and found == expected[: len(found)]:
                self._add_columns(name, expected[len(found) :])
            else:
                raise IngestError(
                    f"the table {self.path(name)} was written by another version of this job: "
                    "give another tables directory (everything is ingested again into it)"
                )

    def _add_columns(self, name: str, columns: list[tuple[str, DataType]]) -> None:
        """Add columns; rows that are there have null in them."""
        if columns:
            added = ", ".join(f"{column} {kind.simpleString()}" for column, kind in columns)
            path = self.path(name).replace("`", "``")
            self.spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMNS ({added})")

    def has(self, name: str) -> bool:
        """Return whether a table is there: tables of an earlier version have fewer."""
        return DeltaTable.isDeltaTable(self.spark, self.path(name))

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

    def append(self, name: str, rows: DataFrame, *, batch: int) -> None:
        """Add a batch's rows to a table, once however often this is called."""
        contract = rows.select(*TABLES[name].fieldNames())

        def write() -> None:
            writer = contract.write.format("delta").mode("append")
            writer = writer.option("txnAppId", f"{APPLICATION}/{name}")
            writer = writer.option("userMetadata", f"{_OF_BATCH}{batch}")
            writer.option("txnVersion", batch).save(self.path(name))

        self._commit(name, write)

    def has_appended(self, name: str, batch: int) -> bool:
        """Return whether a batch's append is committed: one without rows leaves nothing else.

        Batches come one behind the other, so it is among the last commits; those that an operator
        makes in between (OPTIMIZE, VACUUM) are passed over.
        """
        commits = DeltaTable.forPath(self.spark, self.path(name)).history(COMMITS_LOOKED_AT_MAX)
        return not commits.where(F.col("userMetadata") == f"{_OF_BATCH}{batch}").isEmpty()

    def merge(
        self,
        name: str,
        rows: DataFrame,
        *,
        on: str,
        batch: int,
        clauses: Callable[[DeltaMergeBuilder], DeltaMergeBuilder],
        step: str = "merge",
    ) -> None:
        """Merge a batch's rows (`new`) into a table (`old`), once however often this is called."""
        contract = rows.select(*TABLES[name].fieldNames())

        def write() -> None:
            table = DeltaTable.forPath(self.spark, self.path(name))
            with self._transaction(name, step, batch):
                clauses(table.alias("old").merge(contract.alias("new"), on)).execute()

        self._commit(name, write)

    @contextmanager
    def _transaction(self, name: str, step: str, batch: int) -> Iterator[None]:
        # MERGE takes the transaction from the session, not from an option.
        self.spark.conf.set(_APP_CONF, f"{APPLICATION}/{name}/{step}")
        self.spark.conf.set(_VERSION_CONF, str(batch))
        try:
            yield
        finally:
            self.spark.conf.unset(_APP_CONF)
            self.spark.conf.unset(_VERSION_CONF)

    def _commit(self, name: str, write: Callable[[], None]) -> None:
        for attempt in range(1, CONFLICT_RETRIES_MAX + 1):
            try:
                return write()
            except DeltaConcurrentModificationException as error:
                # The other writer may have committed this very batch: then the next try is skipped.
                if attempt == CONFLICT_RETRIES_MAX:
                    raise IngestError(
                        f"another writer keeps changing the table {self.path(name)}: "
                        "wait until the other ingest has ended, then run this one again"
                    ) from error
        return None
