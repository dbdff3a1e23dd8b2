"""An ingestion run, which processes one batch after another until all landed files are ingested."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from cloud_jobs.ingest.batch import Batch
from cloud_jobs.ingest.keys_file import NO_KEYS, load_keys
from cloud_jobs.ingest.known_rows import KnownRows
from cloud_jobs.ingest.landing import contents_of, list_landed
from cloud_jobs.ingest.pace import Pace
from cloud_jobs.ingest.totals import sums_after, sums_of
from cloud_jobs.limits import SEGMENTS_PER_BATCH_MAX, SMALL_BATCH_BYTES_MAX
from cloud_jobs.settings import IngestSettings
from cloud_jobs.spark.effort import small_effort
from cloud_jobs.spark.side_by_side import side_by_side
from cloud_jobs.tables.delta_tables import Tables


class Run(NamedTuple):
    """Summary of an ingestion run."""

    since: int
    """The last batch that was finished before the run."""
    ignored: int
    """Number of files whose names are not segment names."""
    before: Mapping[str, int]
    """Sums over all earlier batches (see totals.sums_of)."""
    news: Mapping[str, int]
    """Sums over the batches of this run."""
    known: KnownRows | None = None
    """Rows of the tables that the run holds in memory."""


def ingest_batches(
    tables: Tables,
    settings: IngestSettings,
    progress: Callable[[str], None],
    after_step: Callable[[str], None],
    is_stopping: Callable[[], bool] = lambda: False,
    *,
    is_alone: bool = False,
) -> Run:
    """Ingest all landed files in batches. Stop after the current batch if `is_stopping()` is True.

    `is_alone` is True if no other run can write to the tables."""
    pinned = NO_KEYS if settings.keys is None else load_keys(settings.keys)
    known = KnownRows(tables, is_alone=is_alone)
    before = _sums_before(tables, known)
    finished = before["batch"]
    Batch(tables, finished, progress, after_step).sweep()
    rows: list[dict[str, Any] | None] = []
    pace = Pace(time.monotonic())
    listing, waiting = None, deque[str]()
    while True:
        batch = Batch(tables, finished + 1, progress, after_step, settings.source, pinned, known)
        # If no other run can stage a batch, only the first batch may be staged already.
        if not (is_alone and rows) and batch.is_staged():
            progress(f"batch {batch.number}: a run before did not finish it; going on")
            rows.append(batch.complete())
        else:
            if listing is None or (listing.more and not waiting):
                with small_effort(tables.spark):
                    listing = list_landed(tables, settings.source, pinned, known)
                waiting.extend(listing.paths)
            if not waiting or is_stopping():
                news = _sums_of(rows) or sums_after(tables, before["batch"])
                return Run(before["batch"], listing.ignored, before, news, known)
            taken = [waiting.popleft() for _ in range(min(len(waiting), SEGMENTS_PER_BATCH_MAX))]
            row, size = _ingested(batch, taken)
            rows.append(row)
            now, count, left = time.monotonic(), len(taken), len(waiting)
            progress(pace.line(now, segments=count, file_bytes=size, waiting=left))
        finished += 1


def _sums_before(tables: Tables, known: KnownRows) -> dict[str, int]:
    """Return the sums over all earlier batches. Load the rows of `known` at the same time."""
    with small_effort(tables.spark), side_by_side() as submit:
        sums = submit(sums_after, tables, 0)
        submit(known.load)
    return sums.result()


def _ingested(batch: Batch, paths: list[str]) -> tuple[dict[str, Any] | None, int]:
    """Stage and complete a batch of files.

    Return the batch's row of the table `batches`, and the size of the files in bytes. The row is
    None if another run wrote it.
    """
    files, contents = contents_of(batch.tables.spark, paths)
    size = sum(file.file_bytes for file in files)
    with small_effort(batch.tables.spark, is_small=size <= SMALL_BATCH_BYTES_MAX):
        batch.progress(f"batch {batch.number}: verifying {len(files)} segments")
        batch.stage(contents)
        return batch.complete(is_new=True), size


def _sums_of(rows: list[dict[str, Any] | None]) -> dict[str, int] | None:
    """Return the totals of a run's batches, or None if another run finished one of them."""
    own = [row for row in rows if row is not None]
    return sums_of(own) if len(own) == len(rows) else None
