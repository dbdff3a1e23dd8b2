"""Composition root of the commands for gold tables, gaps and maintenance.

Ingestion and all commands that write hold the lock of the tables. There is therefore only one
writer at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from cloud_jobs.audit.gaps import gaps_of
from cloud_jobs.errors import (
    IngestError,
    TablesBusyError,
    first_line_of,
    is_conflict,
    spark_failures,
)
from cloud_jobs.gold.run import update_gold
from cloud_jobs.gold.sensor_gaps import KIND as SENSOR
from cloud_jobs.gold.steps import gaps_by_day
from cloud_jobs.gold.up_to_date import events_to_read, result_if_up_to_date
from cloud_jobs.ingest.run_lock import only_run
from cloud_jobs.limits import EVENTS_SHORT_RUN_MAX, GAPS_LISTED_MAX
from cloud_jobs.maintenance.compact import compact as compact_of
from cloud_jobs.maintenance.requeue import requeue as requeue_of
from cloud_jobs.maintenance.vacuum import vacuum as vacuum_of
from cloud_jobs.short_run import has_few_events, jvm_settings
from cloud_jobs.spark.session import spark_session
from cloud_jobs.tables.delta_tables import Tables

Progress = Callable[[str], None]
__all__ = ["IngestError", "compact", "gaps", "gold", "requeue", "vacuum"]


def gold(root: str, progress: Progress, *, is_audited: bool) -> dict[str, Any]:
    """Update the gold tables from the ingested tables. Return what the run did, as JSON values.

    With the argument `is_audited`, the ingested tables are also audited. If there is nothing to do,
    no Spark session is started. Raises IngestError if Spark fails, or if another run is writing.
    """
    jvm = None
    if SparkSession.getActiveSession() is None:
        result = result_if_up_to_date(root, is_audited=is_audited)
        if result is not None:
            return result
        jvm = jvm_settings(is_short=_is_gold_short(root, is_audited=is_audited))
    with _writing(root, progress, jvm) as spark:
        return update_gold(spark, root, progress, is_audited=is_audited)


def _is_gold_short(root: str, *, is_audited: bool) -> bool:
    """Return True if a run of `gold` reads few events. A wrong result only makes it slower."""
    events = events_to_read(root, is_audited=is_audited)
    return has_few_events(root) if events is None else events <= EVENTS_SHORT_RUN_MAX


def compact(root: str, progress: Progress) -> dict[str, Any]:
    """Merge the small files of the tables into a few large ones.

    Return statistics for each table.
    """
    with _writing(root, progress) as spark:
        return compact_of(_there(spark, root), progress)


def vacuum(root: str, progress: Progress, *, keep_days: int, is_dry: bool) -> dict[str, Any]:
    """Remove files that no recent version of a table uses. Return the number of files per table.

    Args:
        root: directory or URL of the tables.
        progress: called with a line of text for each table.
        keep_days: number of days for which the files of a replaced version are kept.
        is_dry: True to only count the files.
    """
    with _writing(root, progress) as spark:
        return vacuum_of(_there(spark, root), progress, keep_days=keep_days, is_dry=is_dry)


def requeue(
    root: str, progress: Progress, *, reason: str | None, gateway: str | None
) -> dict[str, Any]:
    """Mark refused segments, so that the next ingestion examines them again.

    The arguments `reason` and `gateway` select the segments. None selects all.
    """
    with _writing(root, progress) as spark:
        return requeue_of(_there(spark, root), reason=reason, gateway=gateway)


def gaps(root: str, progress: Progress, *, gateway: str | None) -> dict[str, Any]:
    """Return the counts of the current gaps in events and readings, and a list of the largest gaps.

    The argument `gateway` selects the gaps of one gateway. None selects all. The command only
    reads, so it can run at the same time as a writer.
    """
    with spark_session(None, progress, places=(root,)) as spark, _failures(root):
        tables = _there(spark, root)
        holes = gaps_of(tables.read("segments"), tables.read("events"))
        found = gaps_by_day(tables, holes)
        if gateway is not None:
            found = found.where(F.col("gateway") == gateway)
        found = found.persist()
        is_sensor = F.col("kind") == SENSOR
        total = found.agg(
            F.count("*").alias("gaps_count"),
            *(F.coalesce(F.sum(F.when(of, F.col("missing"))), F.lit(0)).alias(name)
              for name, of in (("missing", ~is_sensor), ("readings_missing", is_sensor))),
        ).first()  # fmt: skip
        assert total is not None
        ordered = found.orderBy(
            F.col("missing").desc_nulls_last(), "gateway", "segment", "device", "device_boot",
            "from_sequence",
        )  # fmt: skip
        rows = [row.asDict() for row in ordered.limit(GAPS_LISTED_MAX).collect()]
        found.unpersist()
    listed = [row | {"day": row["day"].isoformat() if row["day"] else None} for row in rows]
    return {"tables_root": root, **total.asDict(), "gaps": listed}


def _there(spark: SparkSession, root: str) -> Tables:
    tables = Tables(spark, root)
    if not tables.has("segments"):
        raise IngestError(f"there are no tables in {root}: run `oncegate ingest` first")
    return tables


@contextmanager
def _writing(
    root: str, progress: Progress, jvm: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    session = spark_session(None, progress, jvm, places=(root,))
    with session as spark, _failures(root), only_run(spark, root):
        yield spark


@contextmanager
def _failures(root: str) -> Iterator[None]:
    try:
        yield
    except spark_failures() as error:
        kind = TablesBusyError if is_conflict(error) else IngestError
        raise kind(
            f"Spark failed on the tables in {root}: {first_line_of(error)} (what was committed "
            "stays, run it again; if it fails again, Spark's log in the cache directory has more)"
        ) from error
