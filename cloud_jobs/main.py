"""The Spark job's composition root: ingest what has landed, and audit the tables.

`run` is what the command `oncegate ingest` calls. It finishes the batch that a run before left
unfinished, takes what has landed since, batch by batch, and reports what stands in the tables: run
it as often as you like, the tables hold each event once. `audit` is what `oncegate audit --tables`
calls.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

from cloud_jobs import unchanged
from cloud_jobs.audit.run import audited
from cloud_jobs.errors import IngestError, first_line_of, spark_failures
from cloud_jobs.ingest.keys_file import load_keys
from cloud_jobs.ingest.landing import refused_among
from cloud_jobs.ingest.run import ingest_batches
from cloud_jobs.ingest.run_lock import only_run
from cloud_jobs.report import IngestReport, render
from cloud_jobs.reporting import report_of
from cloud_jobs.settings import IngestSettings
from cloud_jobs.spark.session import spark_session
from cloud_jobs.tables.delta_tables import Tables

__all__ = ["IngestError", "audit", "ingest", "render", "run"]


def run(settings: IngestSettings, progress: Callable[[str], None]) -> IngestReport:
    """Ingest all that has landed. `progress` gets a line at each step. Raises IngestError."""
    if settings.keys is not None:
        # A mistake in it is found before Spark starts.
        load_keys(settings.keys)
    with spark_session(settings.cache_dir, progress) as spark:
        return ingest(spark, settings, progress, lambda _: None)


def audit(tables_root: str, progress: Callable[[str], None]) -> dict[str, Any]:
    """Audit the tables below a directory or URL; the result as JSON values. Raises IngestError."""
    with spark_session(None, progress) as spark:
        return audited(spark, tables_root, progress)


def ingest(
    spark: SparkSession,
    settings: IngestSettings,
    progress: Callable[[str], None],
    after_step: Callable[[str], None],
) -> IngestReport:
    """Run in the caller's Spark session; `after_step` is called when a step is committed."""
    began = time.monotonic()
    try:
        with only_run(settings.tables):
            unchanged.forget(settings)
            # Before Spark lists it: what lands later is not said to be known.
            landing = unchanged.landing_of(settings)
            tables = Tables(spark, settings.tables)
            tables.create()
            before, ignored = ingest_batches(tables, settings, progress, after_step)
            progress("counting")
            report = report_of(tables, settings, since=before, ignored=ignored, began=began)
            if landing is not None:
                _remember(tables, settings, landing, report)
            return report
    except spark_failures() as error:
        raise IngestError(
            f"Spark failed: {first_line_of(error)} (nothing is lost: run it again; if it fails "
            "again, Spark's log in the cache directory has the details)"
        ) from error


def _remember(
    tables: Tables, settings: IngestSettings, landing: unchanged.Landing, report: IngestReport
) -> None:
    refused = refused_among(tables, landing.segment_names)
    if refused is not None:
        # A disk without room for it costs the next run a start of Spark, and nothing else.
        with contextlib.suppress(OSError):
            unchanged.remember(settings, landing, refused, report)
