"""Removes files that no recent version of a table uses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from cloud_jobs.maintenance.compact import ORDER
from cloud_jobs.tables.delta_tables import Tables

_CHECKS: Final = (
    # By default Delta refuses less than a week, and ignores the hours of RETAIN if the table has a
    # property for them. Here the caller has chosen the time.
    "spark.databricks.delta.retentionDurationCheck.enabled",
    "spark.databricks.delta.vacuum.retentionWindowIgnore.enabled",
)
NAMES: Final = (*ORDER, "gaps", "drops", "audit_daily", "carried_events")


def vacuum(
    tables: Tables, progress: Callable[[str], None], *, keep_days: int, is_dry: bool
) -> dict[str, Any]:
    """Remove files that no recent version of a table uses. Return the number of files per table.

    A reader fails if it is still reading a version that is no longer recent.

    Args:
        tables: the tables.
        progress: called with a line of text for each table.
        keep_days: number of days for which the files of a replaced version are kept.
        is_dry: True to count the files without removing them.
    """
    spark, done = tables.spark, {}
    for check in _CHECKS:
        spark.conf.set(check, "false")
    try:
        for name in NAMES:
            if tables.has(name):
                progress(f"vacuuming {name}")
                path = tables.path(name).replace("`", "``")
                retain = f"VACUUM delta.`{path}` RETAIN {keep_days * 24} HOURS"
                would = len(spark.sql(f"{retain} DRY RUN").collect())
                if not is_dry:
                    spark.sql(retain)
                done[name] = would
    finally:
        for check in _CHECKS:
            spark.conf.unset(check)
    return {"tables_root": tables.root, "keep_days": keep_days, "is_dry": is_dry,
            "files": sum(done.values()), "tables": done}  # fmt: skip
