"""JVM options for short and for long Spark runs.

The JVM has two compilers. The second one generates faster code, but takes longer to compile. A run
with a million events ends before the faster code saves time, so a short run uses only the first
compiler.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from cloud_jobs.limits import EVENTS_SHORT_RUN_MAX, SHORT_RUN_BYTES_MAX
from cloud_jobs.places import local_directory
from cloud_jobs.settings import IngestSettings
from cloud_jobs.spark.java import JVM_VARIABLES, LONG_RUN, OPTION, SHORT_RUN
from cloud_jobs.spark.outside import user_settings_in
from cloud_jobs.tables.query_engine import READ_FAILURES, QueryEngine

_EVENTS: Final = "SELECT coalesce(sum(events_new), 0) AS events FROM batches"
_LOG: Final = "batches/_delta_log"
"""Directory whose modification time changes with each batch."""
OPTIONS: Final = (OPTION, "spark.driver.extraJavaOptions")


def jvm_settings(*, is_short: bool) -> Mapping[str, str]:
    """Return the Spark settings that pass this program's JVM options to a new JVM.

    If the user has set JVM options, return an empty result. The two sets of options together might
    select two garbage collectors, and then the JVM would not start.
    """
    if {*OPTIONS} & {*user_settings_in()} or any(name in os.environ for name in JVM_VARIABLES):
        return {}
    return {OPTION: SHORT_RUN if is_short else LONG_RUN}


def has_few_events(root: str) -> bool:
    """Return True if the tables in a local directory have at most EVENTS_SHORT_RUN_MAX events.

    Return False for other locations, or if the tables cannot be read. A wrong result only makes the
    run slower.
    """
    if local_directory(root) is None:
        return False
    try:
        found = QueryEngine(root, ["batches"]).rows(_EVENTS)
    except READ_FAILURES:
        return False
    return int(found[0]["events"]) <= EVENTS_SHORT_RUN_MAX


def is_short(settings: IngestSettings) -> bool:
    """Return True if the new files of a run have at most SHORT_RUN_BYTES_MAX bytes in total.

    If the run also updates the gold tables, the tables must have few events. Return False if the
    source or the tables are not in a local directory. New files are recognised by their
    modification times. A wrong result only makes the run slower.
    """
    source, tables = local_directory(settings.source), local_directory(settings.tables)
    if source is None or tables is None:
        return False
    is_first = not (tables / _LOG).exists()
    if settings.is_gold_updated and not (is_first or has_few_events(settings.tables)):
        return False
    total = 0
    for size in _sizes_since(source, _time_of(tables / _LOG)):
        total += size
        if total > SHORT_RUN_BYTES_MAX:
            return False
    return True


def _time_of(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:  # there was no run yet
        return 0.0


def _sizes_since(directory: Path, seconds: float) -> Iterator[int]:
    for folder, _, names in os.walk(directory):
        for name in names:
            try:
                found = os.stat(os.path.join(folder, name))
            except OSError:  # the run itself will report the error
                continue
            if found.st_mtime >= seconds:
                yield found.st_size
