"""Creates missing tables, and checks the existing ones."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql.types import DataType, StructType

from cloud_jobs.errors import IngestError
from cloud_jobs.limits import COMMITS_PER_CHECKPOINT, QUERIES_AT_A_TIME_MAX
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.merge import quoted
from cloud_jobs.tables.schemas import INDEXED_COLUMNS, PARTITIONS
from cloud_jobs.tables.versions import PROPERTY, version_of, write_version


def create(tables: Tables, renew: Callable[[Tables], None] | None = None) -> None:
    """Create the missing tables, and check the version and the columns of the existing ones.

    `renew` is a function that converts tables of an earlier version. The new version is written
    after the conversion, so an interrupted conversion is repeated by the next run. If `renew` is
    None, tables of an earlier version are refused.

    Raises:
        IngestError: the tables have a version or columns that this job cannot use.
    """
    with ThreadPoolExecutor(QUERIES_AT_A_TIME_MAX, "table") as at_once:
        found = [*at_once.map(tables.columns, tables.schemas)]
        missing = [name for name, there in zip(tables.schemas, found, strict=True) if there is None]
        list(at_once.map(lambda name: _create(tables, name), missing))
    version = version_of(tables, tables.marker)
    others = [
        name
        for name, there in zip(tables.schemas, found, strict=True)
        if there is not None and _types_of(there) != _types_of(tables.schemas[name])
    ]
    if version is None and not others:
        # The run that created the table was killed before it wrote the version.
        write_version(tables, tables.marker, tables.version)
        return
    version = version or 0
    if version > tables.version:
        raise IngestError(
            f"the tables in {tables.root} are of version {version}, and this job knows "
            f"{tables.version}: a newer one has written them; update this one"
        )
    if version < tables.version and renew is not None:
        renew(tables)
        write_version(tables, tables.marker, tables.version)
        return
    if others or version < tables.version:
        raise _other_version_error(tables, next(iter(others), tables.marker))


def _create(tables: Tables, name: str) -> None:
    """Create a table, even if an interrupted run left its folder without a first commit.

    CREATE TABLE IF NOT EXISTS would treat such a folder as an existing table, and write no commit.
    The first commit is then written by an append without rows.
    """
    properties = _properties_of(tables, name)
    partitions = PARTITIONS.get(name, ())
    schema = tables.schemas[name]
    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in schema)
    listed = ", ".join(f"'{key}' = '{value}'" for key, value in properties.items())
    tables.spark.sql(
        f"CREATE TABLE IF NOT EXISTS delta.`{quoted(tables.path(name))}` ({columns}) USING DELTA"
        + (f" PARTITIONED BY ({', '.join(partitions)})" if partitions else "")
        + f" TBLPROPERTIES ({listed})"
    )
    if tables.columns(name) is None:
        writer = tables.spark.createDataFrame([], schema).write.format("delta").mode("append")
        writer.partitionBy(*partitions).options(**properties).save(tables.path(name))


def _properties_of(tables: Tables, name: str) -> dict[str, str]:
    """Return the Delta properties to set on a new table."""
    properties = {"delta.checkpointInterval": str(COMMITS_PER_CHECKPOINT)}
    if name == tables.marker:
        properties[PROPERTY] = str(tables.version)
    if name in INDEXED_COLUMNS:
        properties["delta.dataSkippingStatsColumns"] = ",".join(INDEXED_COLUMNS[name])
    return properties


def remake(tables: Tables) -> None:
    """Empty all tables and update their columns. The caller must compute the rows again.

    The caller's next writes must use another `application` (the prefix of their transactions).
    Otherwise Delta would skip these writes as repetitions.
    """
    for name, schema in tables.schemas.items():
        writer = tables.spark.createDataFrame([], schema).write.format("delta")
        writer = writer.mode("overwrite").option("overwriteSchema", "true")
        writer.partitionBy(*PARTITIONS.get(name, ())).save(tables.path(name))
        tables.changed(name)


def _types_of(columns: StructType) -> list[tuple[str, DataType]]:
    """Return the names and types of columns.

    Nullability is ignored, because Delta stores every column as nullable.
    """
    return [(field.name, field.dataType) for field in columns]


def _other_version_error(tables: Tables, name: str) -> IngestError:
    return IngestError(
        f"the table {tables.path(name)} was written by another version of this job: "
        "give another tables directory (everything is ingested again into it)"
    )
