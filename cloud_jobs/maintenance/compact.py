"""Few large files in place of many small ones, in the order in which they are asked for.

Incremental: a partition with fewer than COMPACT_FILES_MIN small files is left alone. So a day that
is over is written once more and then never again, however often this runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from cloud_jobs.limits import COMPACT_FILE_BYTES, COMPACT_FILES_MIN
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.schemas import PARTITIONS

ORDER: Final[dict[str, tuple[str, ...]]] = {
    "events": ("gateway", "sequence"),
    "sensor_readings": ("gateway", "sequence"),
    "segments": ("gateway", "first_sequence"),
    "sessions": ("gateway", "session"),
    "quarantine": ("gateway", "sequence"),
    "batches": (),
    "gateway_keys": (),
    "clock_corrections": ("gateway", "from_sequence"),
    "boots": ("gateway", "first_sequence"),
    "qos2_messages": ("gateway", "message"),
    "qos2_deliveries": ("gateway", "message"),
    "qos2_daily": ("gateway", "day"),
    "gateway_health": ("gateway", "day"),
    "gold_runs": (),
}
"""Tables that grow, and the columns by which their rows are clustered. `gaps` and `audit_daily`
are written as a whole by each run, and need none."""


def compact(tables: Tables, progress: Callable[[str], None]) -> dict[str, Any]:
    """Compact each table that has need; return files before and after by table."""
    done: dict[str, Any] = {}
    for name, order in ORDER.items():
        if tables.has(name):
            progress(f"compacting {name}")
            done[name] = _compact(tables, name, order)
    return {"tables_root": tables.root, "tables": done}


def _compact(tables: Tables, name: str, order: tuple[str, ...]) -> dict[str, int]:
    path = tables.path(name).replace("`", "``")
    removed = added = size = 0
    days = _days_in_need(tables, name)
    for day in days:
        where = "" if day is None else f" WHERE day = DATE '{day}'"
        cluster = f" ZORDER BY ({', '.join(order)})" if order else ""
        row = tables.spark.sql(f"OPTIMIZE delta.`{path}`{where}{cluster}").first()
        assert row is not None
        removed += row["metrics"]["numFilesRemoved"]
        added += row["metrics"]["numFilesAdded"]
        size += row["metrics"]["filesRemoved"]["totalSize"] or 0
    return {
        "partitions": len(days),
        "files_removed": removed,
        "files_added": added,
        "bytes_rewritten": size,
    }


def _days_in_need(tables: Tables, name: str) -> list[str | None]:
    """Return the partitions with many small files; None stands for a table without partitions."""
    found: list[Row] = _small_files(tables, name)
    return [row["day"] for row in found if row["files"] >= COMPACT_FILES_MIN]


def _small_files(tables: Tables, name: str) -> list[Row]:
    """Return how many small files each partition has, from the table's log alone."""
    spark = tables.spark
    # Reading brings the log's snapshot up to date.
    is_partitioned = "day" in PARTITIONS.get(name, ()) and "day" in tables.read(name).columns
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    log = jvm.org.apache.spark.sql.delta.DeltaLog.forTable(spark._jsparkSession, tables.path(name))
    files = DataFrame(log.unsafeVolatileSnapshot().allFiles().toDF(), spark)
    day = F.col("partitionValues")["day"] if is_partitioned else F.lit(None).cast("string")
    small = files.where(F.col("size") < COMPACT_FILE_BYTES).groupBy(day.alias("day"))
    return small.agg(F.count("*").alias("files")).collect()
