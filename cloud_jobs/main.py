"""The Spark job's composition root: ingest what has landed, and audit the tables.

`run` is what the command `oncegate ingest` calls. It finishes the batch that a run before left
unfinished, takes what has landed since, batch by batch, and reports what stands in the tables: run
it as often as you like, the tables hold each event once. `audit` is what `oncegate audit --tables`
calls.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from cloud_jobs import unchanged
from cloud_jobs.audit.run import audited
from cloud_jobs.errors import (
    IngestError,
    TablesBusyError,
    first_line_of,
    is_conflict,
    jars_hint,
    spark_failures,
)
from cloud_jobs.ingest.keys_file import load_keys
from cloud_jobs.ingest.landing import refused_among
from cloud_jobs.ingest.run import ingest_batches
from cloud_jobs.ingest.run_lock import only_run
from cloud_jobs.places import local_directory
from cloud_jobs.report import IngestReport
from cloud_jobs.reporting import report_of
from cloud_jobs.settings import IngestSettings
from cloud_jobs.short_run import is_short, jvm_settings
from cloud_jobs.spark.session import spark_session
from cloud_jobs.spark.side_by_side import side_by_side
from cloud_jobs.tables.delta_tables import Tables
from cloud_jobs.when_needed import Session, session_when_needed

__all__ = ["IngestError", "audit", "follow", "ingest", "run"]


def run(settings: IngestSettings, progress: Callable[[str], None]) -> IngestReport:
    """Ingest all that has landed. `progress` gets a line at each step. Raises IngestError."""
    if settings.keys is not None:
        # A mistake in it is found before Spark starts.
        load_keys(settings.keys)
    with _session_of(settings, progress, jvm_settings(is_short=is_short(settings))) as session:
        return ingest(session, settings, progress, lambda _: None)


def _session_of(
    settings: IngestSettings, progress: Callable[[str], None], jvm: Mapping[str, str] | None = None
) -> contextlib.AbstractContextManager[Session]:
    places = (settings.source, settings.tables)
    start = partial(
        spark_session, settings.cache_dir, progress, jvm, places=places, jars=settings.jars
    )
    is_elsewhere = any(local_directory(place) is None for place in places)
    return session_when_needed(start, is_needed=is_elsewhere)


def follow(
    settings: IngestSettings,
    progress: Callable[[str], None],
    *,
    seconds: float,
    stop: threading.Event,
) -> IngestReport:
    """Ingest what has landed, again every so many seconds, until `stop` is set.

    A loop over the same ledger as a single run: what one run leaves the next one takes, whichever
    process it is in (docs/decisions/0137). Return the report of the last run.
    """
    with _session_of(settings, progress) as session:
        report = None
        while report is None or not stop.is_set():
            report = _next_report(session, settings, progress, stop) or report
            stop.wait(seconds)
        return report


def _next_report(
    session: Session,
    settings: IngestSettings,
    progress: Callable[[str], None],
    stop: threading.Event,
) -> IngestReport | None:
    """Return the report of a run, None where another writer has the tables."""
    report = unchanged.report_if_unchanged(settings)
    if report is not None:
        return report
    try:
        report = ingest(session, settings, progress, lambda _: None, stop.is_set)
    except TablesBusyError as error:
        if stop.is_set():
            raise
        progress(f"{error}; trying again")
        return None
    progress(f"{report.segments_ingested:,} segments, {report.events_new:,} events are new")
    return report


def audit(tables_root: str, progress: Callable[[str], None]) -> dict[str, Any]:
    """Audit the tables below a directory or URL; the result as JSON values. Raises IngestError."""
    with spark_session(None, progress, places=(tables_root,)) as spark:
        return audited(spark, tables_root, progress)


def ingest(
    session: Session,
    settings: IngestSettings,
    progress: Callable[[str], None],
    after_step: Callable[[str], None],
    is_stopping: Callable[[], bool] = lambda: False,
) -> IngestReport:
    """Run, in the caller's Spark session where one is needed.

    `after_step` is called when a step is committed.

    Where `is_stopping` it ends behind the batch that it has begun.
    """
    began = time.monotonic()
    try:
        with only_run(settings.tables):
            unchanged.forget(settings)
            # Before Spark lists it: what lands later is not said to be known.
            landing = unchanged.landing_of(settings)
            tables = Tables(session, settings.tables)
            tables.create()
            done = ingest_batches(tables, settings, progress, after_step, is_stopping)
            progress("counting")
            with side_by_side() as submit:
                refused = submit(_refused_in, tables, None if is_stopping() else landing)
                report = report_of(tables, settings, done, began=began)
            if landing is not None and (found := refused.result()) is not None:
                # A disk without room for it costs the next run a start of Spark, and nothing else.
                with contextlib.suppress(OSError):
                    unchanged.remember(settings, landing, found, report)
            return report
    except spark_failures() as error:
        kind = TablesBusyError if is_conflict(error) else IngestError
        raise kind(
            f"Spark failed: {first_line_of(error)} (nothing is lost: run it again; if it fails "
            f"again, Spark's log in the cache directory has the details{jars_hint(error)})"
        ) from error


def _refused_in(tables: Tables, landing: unchanged.Landing | None) -> unchanged.Refused | None:
    return None if landing is None else refused_among(tables, landing.segment_names)
