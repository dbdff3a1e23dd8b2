"""The job's Delta tables, read and written with Spark on every file system that Spark supports.

Each write belongs to a numbered batch and has an application transaction (`txnAppId` =
oncegate-ingest/<table>/<step>, `txnVersion` = batch). Delta records the transaction in the same
commit that adds the rows, and skips a write whose version is already recorded. A step is therefore
idempotent, even if another run repeats it. If two writers use the same version, one of them fails
with a conflict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, Final

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession, is_remote
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from cloud_jobs.errors import TablesBusyError, is_conflict, spark_failures
from cloud_jobs.limits import COMMITS_EXAMINED_MAX, CONFLICT_RETRIES_MAX
from cloud_jobs.places import absolute
from cloud_jobs.tables.merge import Merge, MergeRule, literal, quoted
from cloud_jobs.tables.schemas import TABLES
from cloud_jobs.tables.sql import Values, rendered

APPLICATION: Final = "oncegate-ingest"
VERSION: Final = 1
"""Version of the ingested tables."""
_APP_CONF: Final = "spark.databricks.delta.write.txnAppId"
_FORMAT_CHECK_CONF: Final = "spark.databricks.delta.formatCheck.enabled"
_METADATA_CONF: Final = "spark.databricks.delta.commitInfo.userMetadata"
_SOURCE_CONF: Final = "spark.databricks.delta.merge.materializeSource"
_NO_TABLE: Final = frozenset(
    {"PATH_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST", "DELTA_TABLE_NOT_FOUND"}
)
_VERSION_CONF: Final = "spark.databricks.delta.write.txnVersion"

_merging: Final = Lock()
"""A session has one transaction for MERGE, so only one such MERGE runs at a time. A
concurrent append names its own transaction."""


@dataclass(frozen=True, slots=True)
class Tables:
    """The Delta tables below one directory or URL (`root`). `schemas` contains their columns."""

    spark: SparkSession
    root: str
    schemas: Mapping[str, StructType] = field(default_factory=lambda: TABLES)
    application: str = APPLICATION
    """Prefix of `txnAppId` in the transactions of all writes."""
    marker: str = "segments"
    """The table that stores the version of the tables in its properties."""
    version: int = VERSION
    """Version of the schemas, as stored in the properties of `marker`."""
    views: Mapping[str, str] = field(default_factory=dict)
    """Views that replace tables in queries, keyed by table name."""

    def path(self, name: str) -> str:
        return f"{absolute(self.root).rstrip('/')}/{name}"

    def columns(self, name: str) -> StructType | None:
        """Return the stored columns of a table, or None if the table does not exist."""
        try:
            return self.read(name).schema
        except AnalysisException as error:
            if error.getCondition() not in _NO_TABLE:
                raise
            return None

    def has(self, name: str) -> bool:
        """Return True if a table exists."""
        return self.columns(name) is not None

    def remove(self, name: str) -> None:
        """Remove a table and its files, if the table exists."""
        context = None if is_remote() else self.spark.sparkContext
        if context is None:
            if self.has(name):
                self.empty(name)
            return
        assert context._jvm is not None
        place = context._jvm.org.apache.hadoop.fs.Path(self.path(name))
        place.getFileSystem(context._jsc.hadoopConfiguration()).delete(place, True)

    def empty(self, name: str) -> None:
        """Remove the files of a table by writing an empty text file in their place.

        This is needed with Spark Connect: the client cannot delete files itself, and Spark can drop
        only tables that are in a catalog.
        """
        self.spark.conf.set(_FORMAT_CHECK_CONF, "false")
        try:
            nothing = self.spark.createDataFrame([], "line string")
            nothing.write.mode("overwrite").text(self.path(name))
        finally:
            self.spark.conf.unset(_FORMAT_CHECK_CONF)

    def read(self, name: str) -> DataFrame:
        return self.stored(name)

    def stored(self, name: str) -> DataFrame:
        """Return all rows of a table. A subclass may leave some of them out in `read`."""
        return self.spark.read.format("delta").load(self.path(name))

    def query(self, sql: str, **values: Values) -> list[dict[str, Any]]:
        """Return the rows of a query, as dictionaries.

        In `sql`, `{name}` is replaced by a table and `:name` by one of the `values`.
        """
        text = rendered(sql, values, self._named, literal)
        found: list[dict[str, Any]] = self.spark.sql(text).toArrow().to_pylist()
        return found

    def _named(self, name: str) -> str:
        return self.views.get(name) or f"delta.`{quoted(self.path(name))}`"

    def append(
        self,
        name: str,
        rows: DataFrame,
        *,
        batch: int,
        step: str = "",
        columns: Sequence[str] | None = None,
    ) -> None:
        """Append a batch's rows to a table. Repeating the call has no further effect.

        Args:
            name: name of the table.
            rows: the rows to append.
            batch: number of the batch.
            step: name of the write. If a batch has several writes to a table with the same name
                (appends or merges), only the first has an effect.
            columns: the columns to store, by default all. Other columns are null in the new rows.
        """
        application = f"{self.application}/{name}/{step}".rstrip("/")
        contract = rows.select(*(columns or self.schemas[name].fieldNames()))

        def write() -> None:
            writer = contract.write.format("delta").mode("append")
            writer = writer.option("txnAppId", application)
            writer = writer.option("userMetadata", self._batch_metadata(batch))
            writer.option("txnVersion", batch).save(self.path(name))

        self._commit(name, write)
        self.changed(name)

    def add_rows(
        self, name: str, rows: Sequence[Mapping[str, Any]], *, batch: int, step: str = ""
    ) -> None:
        """Append rows from the driver's memory to a table, in the same way as `append`."""
        self.append(name, self.frame(name, rows), batch=batch, step=step)

    def frame(self, name: str, rows: Iterable[Mapping[str, Any]]) -> DataFrame:
        """Create a DataFrame with a table's columns from rows in the driver's memory.

        Missing columns are null.
        """
        schema = self.schemas[name]
        arrow = to_arrow_schema(schema, timezone="UTC")
        columns = pa.Table.from_pylist([dict(row) for row in rows], arrow)
        return self.spark.createDataFrame(columns, schema)

    def has_written(self, name: str, batch: int) -> bool:
        """Return True if a batch's write to a table is committed.

        The table's history is examined, because a write without rows leaves no other trace. Batches
        are written in order, so only the latest commits are examined. An operator's commits
        (OPTIMIZE, VACUUM) are skipped.
        """
        path = quoted(self.path(name))
        found = self.spark.sql(f"DESCRIBE HISTORY delta.`{path}` LIMIT {COMMITS_EXAMINED_MAX}")
        return not found.where(F.col("userMetadata") == self._batch_metadata(batch)).isEmpty()

    def _batch_metadata(self, batch: int) -> str:
        """Return the user metadata that marks a batch's commits."""
        return f"{self.application} batch {batch}"

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
        """Merge a batch's rows into a table. Repeating the call has no further effect.

        Args:
            name: name of the table, which is called `old` in the SQL of `rule`.
            rows: the batch's rows, which are called `new` in the SQL of `rule`.
            rule: SQL condition for a match, and actions for rows with and without a match.
            batch: number of the batch.
            step: name of the write (see `append`).
            is_stable: True if the rows are the same each time they are computed. Otherwise Spark
                stores a copy of them first, because a MERGE reads its rows twice.
        """
        contract = rows.select(*self.schemas[name].fieldNames())

        def write() -> None:
            with _merging, self._transaction(name, step, batch, is_stable=is_stable):
                rule.clauses(Merge(self.path(name), contract, rule.on)).execute()

        self._commit(name, write)
        self.changed(name)

    def update(self, name: str, rows: DataFrame, rule: MergeRule) -> None:
        """Merge rows into a table without a transaction of their own.

        The rule must be such that a repeated call has no further effect. Several tables can be
        updated at the same time. The rows may lack columns that the rule does not use.
        """
        source = self.hold(name, rows)
        if source is not rows and source.isEmpty():
            return
        self._commit(name, lambda: rule.clauses(Merge(self.path(name), source, rule.on)).execute())
        self.changed(name)

    def replace(self, name: str, rows: DataFrame, where: str | None = None) -> None:
        """Replace the rows of a table in one commit.

        If the SQL condition `where` is given, replace only the rows that match it.
        """
        fields = (F.col(f.name).cast(f.dataType).alias(f.name) for f in self.schemas[name])
        writer = rows.select(*fields).write.format("delta").mode("overwrite")
        if where is not None:
            writer = writer.option("replaceWhere", where)
        writer.save(self.path(name))
        self.changed(name)

    def hold(self, name: str, rows: DataFrame) -> DataFrame:
        """Return rows of a table, in memory if this object holds rows of this table."""
        return rows

    def changed(self, name: str) -> None:
        """Take note of a write to a table. Writes by this object's methods call this method."""

    @contextmanager
    def _transaction(self, name: str, step: str, batch: int, *, is_stable: bool) -> Iterator[None]:
        # MERGE reads the transaction from the session, not from an option.
        settings = {
            _APP_CONF: f"{self.application}/{name}/{step}",
            _VERSION_CONF: str(batch),
            _METADATA_CONF: self._batch_metadata(batch),
        }
        if is_stable:
            settings[_SOURCE_CONF] = "none"
        for key, value in settings.items():
            self.spark.conf.set(key, value)
        try:
            yield
        finally:
            for key in settings:
                self.spark.conf.unset(key)

    def _commit(self, name: str, write: Callable[[], None]) -> None:
        for attempt in range(1, CONFLICT_RETRIES_MAX + 1):
            try:
                return write()
            except spark_failures() as error:
                if not is_conflict(error):
                    raise
                # The other writer may have committed this same batch. Delta then skips the next
                # attempt.
                if attempt == CONFLICT_RETRIES_MAX:
                    raise TablesBusyError(
                        f"another writer keeps changing the table {self.path(name)}: "
                        "wait until the other ingest has ended, then run this one again"
                    ) from error
        return None
