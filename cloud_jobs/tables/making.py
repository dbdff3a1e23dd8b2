"""Tables are made, and brought up to date where an earlier version has made them."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Final

from pyspark.errors import AnalysisException
from pyspark.sql.types import DataType, StructType

from cloud_jobs.errors import IngestError
from cloud_jobs.limits import QUERIES_AT_A_TIME_MAX
from cloud_jobs.tables.merge import quoted
from cloud_jobs.tables.schemas import INDEXED_COLUMNS, PARTITIONS
from cloud_jobs.tables.versions import PROPERTY, migrate, newest_of

if TYPE_CHECKING:
    from cloud_jobs.tables.delta_tables import Tables

_NO_TABLE: Final = frozenset(
    {"PATH_NOT_FOUND", "DELTA_PATH_DOES_NOT_EXIST", "DELTA_TABLE_NOT_FOUND"}
)


def create(tables: Tables) -> None:
    """Make the tables that are not there, and bring those of an earlier version up to date.

    Raises IngestError when they are of a later version, or have other columns.
    """
    with ThreadPoolExecutor(QUERIES_AT_A_TIME_MAX, "table") as at_once:
        found = [*at_once.map(lambda name: columns_of(tables, name), tables.schemas)]
        missing = [name for name, there in zip(tables.schemas, found, strict=True) if there is None]
        list(at_once.map(lambda name: _make(tables, name), missing))
    is_changed = migrate(tables, tables.marker, tables.steps)
    for name, there in zip(tables.schemas, found, strict=True):
        columns = columns_of(tables, name) if is_changed else there
        if columns is not None and _missing_columns(tables, name, columns):
            raise _of_another_version(tables, name)


def columns_of(tables: Tables, name: str) -> StructType | None:
    """Return the columns of a table as it is, None where there is none."""
    try:
        return tables.read(name).schema
    except AnalysisException as error:
        if error.getCondition() not in _NO_TABLE:
            raise
        return None


def _make(tables: Tables, name: str) -> None:
    partitions = PARTITIONS.get(name, ())
    properties = {PROPERTY: str(newest_of(tables.steps))} if name == tables.marker else {}
    if name in INDEXED_COLUMNS:
        properties["delta.dataSkippingStatsColumns"] = ",".join(INDEXED_COLUMNS[name])
    schema = tables.schemas[name]
    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema)
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    tables.spark.sql(
        f"CREATE TABLE IF NOT EXISTS delta.`{quoted(tables.path(name))}` ({columns}) USING DELTA"
        + (f" PARTITIONED BY ({', '.join(partitions)})" if partitions else "")
        + (f" TBLPROPERTIES ({listed})" if listed else "")
    )


def add_columns(tables: Tables) -> None:
    """Add the columns that came later, behind those that are there; rows have null in them."""
    for name in tables.schemas:
        columns = _missing_columns(tables, name, columns_of(tables, name) or StructType())
        if columns:
            added = ", ".join(f"{column} {kind.simpleString()}" for column, kind in columns)
            path = quoted(tables.path(name))
            tables.spark.sql(f"ALTER TABLE delta.`{path}` ADD COLUMNS ({added})")


def remake(tables: Tables) -> None:
    """Leave all tables without rows, and with today's columns: they are made again of others.

    Their transactions have to be of another application then.
    """
    for name, schema in tables.schemas.items():
        writer = tables.spark.createDataFrame([], schema).write.format("delta")
        writer = writer.mode("overwrite").option("overwriteSchema", "true")
        writer.partitionBy(*PARTITIONS.get(name, ())).save(tables.path(name))


def _missing_columns(tables: Tables, name: str, there: StructType) -> list[tuple[str, DataType]]:
    """Return the columns that a table lacks. Raises IngestError if its other columns differ."""
    found = [(field.name, field.dataType) for field in there]
    expected = [(field.name, field.dataType) for field in tables.schemas[name]]
    if not found or found != expected[: len(found)]:
        raise _of_another_version(tables, name)
    return expected[len(found) :]


def _of_another_version(tables: Tables, name: str) -> IngestError:
    return IngestError(
        f"the table {tables.path(name)} was written by another version of this job: "
        "give another tables directory (everything is ingested again into it)"
    )
