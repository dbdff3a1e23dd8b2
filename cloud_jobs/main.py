"""Composition root of the Spark job: ingestion of uploaded files, and audit of the tables.

The command `oncegate ingest` calls `run`. The run finishes the batch that an earlier run left
unfinished, ingests all files that have landed since then, and reports the state of the tables. It
can be repeated any number of times, because the tables store each event only once. The command
`oncegate audit --tables` calls `audit`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from cloud_jobs.audit.run import audit_tables
from cloud_jobs.errors import (
    IngestError,
    TablesBusyError,
    first_line_of,
    is_conflict,
    jars_hint,
    spark_failures,
)
from cloud_jobs.gold.run import update_gold
from cloud_jobs.gold.up_to_date import result_if_up_to_date
from cloud_jobs.ingest.keys_file import load_keys
from cloud_jobs.ingest.run import Run, ingest_batches
from cloud_jobs.ingest.run_lock import only_run
from cloud_jobs.nothing_new import report_if_nothing_new
from cloud_jobs.report import IngestReport
from cloud_jobs.reporting import report_of
from cloud_jobs.settings import IngestSettings
from cloud_jobs.short_run import is_short, jvm_settings
from cloud_jobs.spark.session import spark_session
from cloud_jobs.tables import making
from cloud_jobs.tables.delta_tables import Tables

__all__ = ["IngestError", "audit", "follow", "ingest", "run"]


def run(settings: IngestSettings, progress: Callable[[str], None]) -> IngestReport:
    """Ingest all landed files and return the report.

    `progress` is called with a line of text at each step. Raises IngestError if the run fails.
    """
    if settings.keys is not None:
        # A mistake in the keys file is found before Spark starts.
        load_keys(settings.keys)
    if SparkSession.getActiveSession() is None:
        report = _report_if_nothing_new(settings)
        if report is not None:
            progress("nothing new has landed")
            return report
    with _session_of(settings, progress, jvm_settings(is_short=is_short(settings))) as spark:
        report = ingest(spark, settings, progress, lambda _: None)
        if settings.is_gold_updated:
            report = replace(report, gold=_gold(spark, settings, progress))
        return report


def _report_if_nothing_new(settings: IngestSettings) -> IngestReport | None:
    """Return the report if there is nothing to ingest and no gold table to update."""
    report = report_if_nothing_new(settings)
    if report is None or not settings.is_gold_updated:
        return report
    result = result_if_up_to_date(settings.tables, is_audited=settings.is_audited)
    return None if result is None else replace(report, gold=result)


def _session_of(
    settings: IngestSettings, progress: Callable[[str], None], jvm: Mapping[str, str] | None = None
) -> AbstractContextManager[SparkSession]:
    places = (settings.source, settings.tables)
    return spark_session(settings.cache_dir, progress, jvm, places=places, jars=settings.jars)


def follow(
    settings: IngestSettings,
    progress: Callable[[str], None],
    *,
    seconds: float,
    stop: threading.Event,
) -> IngestReport:
    """Ingest new files repeatedly until stopped. Return the report of the last run.

    Each pass is the same as a single run. The tables record which files are done, so another
    process can continue at any point (docs/decisions/0137). If the settings ask for it, the gold
    tables are updated after the first pass, and after each pass that ingested something.

    Args:
        settings: locations of the files and tables.
        progress: called with a line of text at each step.
        seconds: pause between two runs.
        stop: event that stops the repetition when it is set.
    """
    with _session_of(settings, progress, jvm_settings(is_short=False)) as spark:
        done, result = None, None
        is_behind = settings.is_gold_updated
        while done is None or not stop.is_set():
            began = time.monotonic()
            run = _next_run(spark, settings, progress, stop)
            if run is not None and run.news["batches"]:
                is_behind = settings.is_gold_updated
            if run is not None and is_behind and not stop.is_set():
                updated = _next_gold(spark, settings, progress)
                is_behind, result = updated is None, updated or result
            done = run or done
            stop.wait(seconds)
        with _failures():
            report = report_of(Tables(spark, settings.tables), settings, done, began=began)
        return replace(report, gold=result)


def _next_run(
    spark: SparkSession,
    settings: IngestSettings,
    progress: Callable[[str], None],
    stop: threading.Event,
) -> Run | None:
    """Ingest all landed files once, and return a summary of the run.

    Return None if another process is writing to the tables.
    """
    try:
        done = _ingested(spark, settings, progress, lambda _: None, stop.is_set)
    except TablesBusyError as error:
        if stop.is_set():
            raise
        progress(f"{error}; trying again")
        return None
    if done.news["batches"]:
        segments, events = (done.news[name] for name in ("segments_ingested", "events_new"))
        progress(f"{segments:,} segments, {events:,} events are new")
    return done


def _gold(
    spark: SparkSession, settings: IngestSettings, progress: Callable[[str], None]
) -> dict[str, Any]:
    """Update the gold tables. Return the result as JSON values."""
    with _failures(), only_run(spark, settings.tables):
        return update_gold(spark, settings.tables, progress, is_audited=settings.is_audited)


def _next_gold(
    spark: SparkSession, settings: IngestSettings, progress: Callable[[str], None]
) -> dict[str, Any] | None:
    """Update the gold tables as `_gold` does. Return None if another process is writing to them."""
    try:
        return _gold(spark, settings, progress)
    except TablesBusyError as error:
        progress(f"{error}; trying again")
        return None


def audit(tables_root: str, progress: Callable[[str], None]) -> dict[str, Any]:
    """Audit the tables below a directory or URL. Return the result as JSON values.

    Raises IngestError if the audit fails.
    """
    with spark_session(None, progress, places=(tables_root,)) as spark:
        return audit_tables(spark, tables_root, progress)


def ingest(
    spark: SparkSession,
    settings: IngestSettings,
    progress: Callable[[str], None],
    after_step: Callable[[str], None],
) -> IngestReport:
    """Ingest all landed files in the caller's Spark session and return the report.

    `after_step` is called with the name of a step after its commit.
    """
    began = time.monotonic()
    done = _ingested(spark, settings, progress, after_step)
    progress("counting")
    with _failures():
        return report_of(Tables(spark, settings.tables), settings, done, began=began)


def _ingested(
    spark: SparkSession,
    settings: IngestSettings,
    progress: Callable[[str], None],
    after_step: Callable[[str], None],
    is_stopping: Callable[[], bool] = lambda: False,
) -> Run:
    """Ingest all landed files. If `is_stopping` returns True, stop after the current batch."""
    with _failures(), only_run(spark, settings.tables) as is_alone:
        tables = Tables(spark, settings.tables)
        making.create(tables)
        return ingest_batches(
            tables, settings, progress, after_step, is_stopping, is_alone=is_alone
        )


@contextmanager
def _failures() -> Iterator[None]:
    """Convert Spark exceptions in the `with` block to an IngestError with a one-line message."""
    try:
        yield
    except spark_failures() as error:
        kind = TablesBusyError if is_conflict(error) else IngestError
        raise kind(
            f"Spark failed: {first_line_of(error)} (nothing is lost: run it again; if it fails "
            f"again, Spark's log in the cache directory has the details{jars_hint(error)})"
        ) from error
