"""Remove files that no version of a table younger than the horizon refers to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from cloud_jobs.maintenance.compact import ORDER
from cloud_jobs.tables.delta_tables import Tables

_CHECKS: Final = (
    # Delta refuses less than a week by default, and passes over the hours of RETAIN in favour of
    # the table's property; here the caller has stated a horizon.
    "spark.databricks.delta.retentionDurationCheck.enabled",
    "spark.databricks.delta.vacuum.retentionWindowIgnore.enabled",
)
NAMES: Final = (*ORDER, "gaps", "drops", "audit_daily")


def vacuum(
    tables: Tables, progress: Callable[[str], None], *, keep_days: int, is_dry: bool
) -> dict[str, Any]:
    """Vacuum each table; return how many files went (or would go) by table.

    A reader that began on a version older than ``keep_days`` fails; a newer one does not.
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
