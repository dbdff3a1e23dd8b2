"""Merges many small files into a few large ones, sorted for the usual queries.

Compaction is incremental. A partition with fewer than COMPACT_FILES_MIN small files is not changed.
The partition of a past day is therefore rewritten only once, even if the command runs often.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from cloud_jobs.limits import COMPACT_FILE_BYTES, COMPACT_FILES_MIN
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.tables.merge import quoted

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
    "qos2_daily": ("gateway",),
    "gateway_health": ("gateway",),
    "sensor_quarters": ("gateway", "device", "name"),
    "sensor_days": ("gateway", "device", "name"),
    "gold_runs": (),
}
"""Tables that grow, and the columns by which their rows are clustered. Each run writes `gaps`,
`drops` and `audit_daily` as a whole, so they need no compaction."""

_DAY: Final = re.compile(r"/day=([0-9]{4}-[0-9]{2}-[0-9]{2})/[^/]+$")
"""The day of a partition, in the path of one of its files."""


def compact(tables: Tables, progress: Callable[[str], None]) -> dict[str, Any]:
    """Compact each table that has many small files. Return statistics for each table.

    The statistics are the numbers of partitions, removed files and added files, and the rewritten
    bytes. `progress` is called with a line of text for each table.
    """
    done: dict[str, Any] = {}
    for name, order in ORDER.items():
        if tables.has(name):
            progress(f"compacting {name}")
            done[name] = _compact(tables, name, order)
    return {"tables_root": tables.root, "tables": done}


def _compact(tables: Tables, name: str, order: tuple[str, ...]) -> dict[str, int]:
    path = quoted(tables.path(name))
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
    """Return the partitions of a table that have many small files.

    If the table is not partitioned, None represents the whole table.
    """
    rows = tables.read(name)
    # The paths come from the table's log. A compacted day has few files, so they are not opened.
    files = Counter(_day_in(path) for path in rows.inputFiles())
    many = [day for day, count in files.items() if count >= COMPACT_FILES_MIN]
    return sorted(
        (day for day in many if _small_files(rows, day) >= COMPACT_FILES_MIN), key=lambda d: d or ""
    )


def _day_in(path: str) -> str | None:
    found = _DAY.search(path)
    return found[1] if found else None


def _small_files(rows: DataFrame, day: str | None) -> int:
    """Return the number of small files in a partition. Files without rows are not counted."""
    mine = rows if day is None else rows.where(F.col("day") == day)
    files = mine.where(F.col("_metadata.file_size") < COMPACT_FILE_BYTES)
    return files.select("_metadata.file_path").distinct().count()
