"""Detects that a run has nothing to ingest, without starting a JVM.

The table `segments` shows which files are new. The library `deltalake` reads the table in a second;
starting Spark takes more than ten. This works only for local directories. If there is any doubt,
the result is None, and Spark examines the files (docs/decisions/0164).
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from cloud_jobs.ingest.keys_file import NO_KEYS, Pinned, load_keys
from cloud_jobs.ingest.known_rows import files_to_examine
from cloud_jobs.ingest.landed_file import name_of
from cloud_jobs.ingest.landing import KNOWN_FILES, SETTLED
from cloud_jobs.ingest.refused_files import judged_as_before
from cloud_jobs.ingest.run import Run
from cloud_jobs.ingest.run_lock import locked
from cloud_jobs.ingest.totals import sums_after, sums_of
from cloud_jobs.limits import REFUSED_READ_MAX, SEGMENT_FILE_BYTES_MAX
from cloud_jobs.places import local_directory
from cloud_jobs.report import IngestReport
from cloud_jobs.reporting import is_small_run, report_without_spark
from cloud_jobs.settings import IngestSettings
from cloud_jobs.spark.outside import is_untouched
from cloud_jobs.tables.delta_tables import VERSION
from cloud_jobs.tables.query_engine import READ_FAILURES, QueryEngine
from cloud_jobs.tables.schemas import TABLES
from cloud_jobs.tables.versions import PROPERTY

_REFUSED: Final = (
    "SELECT segment_name, file_bytes, file_sha256 FROM {quarantine} "
    "WHERE kind = 'segment' AND segment_name IN :names"
)


def report_if_nothing_new(settings: IngestSettings) -> IngestReport | None:
    """Return a run's report if there is nothing to ingest, or None if Spark has to check this.

    Raises IngestError if another run holds the lock of the tables.
    """
    source, tables = local_directory(settings.source), local_directory(settings.tables)
    if source is None or tables is None or not source.is_dir() or not tables.is_dir():
        return None
    if not is_untouched():
        return None
    began = time.monotonic()
    with locked(tables):
        try:
            return _report_of(settings, source, tables, began)
        except (*READ_FAILURES, RecursionError):
            return None


def _report_of(
    settings: IngestSettings, source: Path, tables: Path, began: float
) -> IngestReport | None:
    engine = _opened(tables)
    if engine is None or any((tables / "_staging").glob("*")):
        return None
    before = sums_after(engine, 0)
    paths = [*_files_below(source.absolute())]
    segments = [path for path in paths if path.endswith(".zst")]
    run = Run(before["batch"], len(paths) - len(segments), before, sums_of([]))
    pinned = load_keys(settings.keys) if settings.keys is not None else NO_KEYS
    if not is_small_run(run) or not _are_known(engine, segments, pinned):
        return None
    return report_without_spark(engine, settings, run, began=began)


def _opened(tables: Path) -> QueryEngine | None:
    """Open the tables without Spark.

    Return None if the version or the columns of the tables differ from those of this job.
    """
    engine = QueryEngine(str(tables), TABLES)
    version = engine.properties("segments").get(PROPERTY)
    if version != str(VERSION):
        return None
    is_known = all(engine.columns(name) == schema.fieldNames() for name, schema in TABLES.items())
    return engine if is_known else None


def _files_below(directory: Path) -> Iterator[str]:
    """Yield the paths of all files below a directory, in the form that Spark uses.

    Files that Spark does not list are left out. Raises ValueError for a symbolic link, because
    Spark may follow it.
    """
    with os.scandir(directory) as entries:
        for entry in entries:
            # Hadoop hides names like these. The name of a partition's folder begins with _ too.
            if entry.name.startswith(".") or (entry.name.startswith("_") and "=" not in entry.name):
                continue
            if entry.is_symlink():
                raise ValueError(entry.path)
            if entry.is_dir(follow_symlinks=False):
                yield from _files_below(Path(entry.path))
            elif not entry.name.endswith("._COPYING_"):
                yield f"file:{entry.path}"


def _are_known(engine: QueryEngine, paths: Sequence[str], pinned: Mapping[str, Pinned]) -> bool:
    """Return True if no file has to be examined. The rules are those of `landing.list_landed`."""
    found = files_to_examine(engine.query(KNOWN_FILES), paths, SETTLED)
    if any(file["state"] is None for file in found) or len(found) > REFUSED_READ_MAX:
        return False
    if len(judged_as_before(engine, found, pinned)) < len(found):
        return False
    return _are_as_refused(engine, [file["path"] for file in found])


def _are_as_refused(engine: QueryEngine, paths: Sequence[str]) -> bool:
    """Return True if all refused files still have the same bytes as when they were refused."""
    if not paths:
        return True
    refused = defaultdict[str, set[tuple[int, str | None]]](set)
    names: list[str] = sorted({name_of(path) for path in paths})
    for row in engine.query(_REFUSED, names=names):
        refused[row["segment_name"]].add((row["file_bytes"], row["file_sha256"]))
    return all(_bytes_of(path) in refused[name_of(path)] for path in paths)


def _bytes_of(path: str) -> tuple[int, str | None]:
    """Return a file's size in bytes and its SHA-256.

    The SHA-256 is None if the file is too large.
    """
    with open(path.removeprefix("file:"), "rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size > SEGMENT_FILE_BYTES_MAX:
            return size, None
        content = file.read(SEGMENT_FILE_BYTES_MAX + 1)
    return len(content), hashlib.sha256(content).hexdigest()
