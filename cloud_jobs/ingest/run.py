"""Batch after batch, until nothing that has landed is left."""

from __future__ import annotations

from collections.abc import Callable

from cloud_jobs.ingest.batch import Batch, last_finished
from cloud_jobs.ingest.keys_file import NO_KEYS, load_keys
from cloud_jobs.ingest.landing import Landed, list_landed
from cloud_jobs.limits import SMALL_BATCH_BYTES_MAX
from cloud_jobs.settings import IngestSettings
from cloud_jobs.spark.effort import small_effort
from cloud_jobs.tables.delta_tables import Tables


def ingest_batches(
    tables: Tables,
    settings: IngestSettings,
    progress: Callable[[str], None],
    after_step: Callable[[str], None],
) -> tuple[int, int]:
    """Ingest all batches; return the last batch finished before and how many files were ignored."""
    pinned = load_keys(settings.keys) if settings.keys is not None else NO_KEYS
    before = finished = last_finished(tables)
    Batch(tables, finished, progress, after_step).sweep()
    while True:
        batch = Batch(tables, finished + 1, progress, after_step, settings.source, pinned)
        if batch.is_staged():
            progress(f"batch {batch.number}: a run before did not finish it; going on")
            more, ignored, files = True, 0, None
        else:
            listing = list_landed(tables, settings.source, pinned)
            more, ignored, files = listing.more, listing.ignored, listing.files
            if not files:
                return before, ignored
        with small_effort(tables.spark, is_small=files is not None and _is_small(files)):
            if files is not None:
                progress(f"batch {batch.number}: verifying {len(files)} segments")
                batch.stage(files)
            batch.complete()
        finished += 1
        if not more:
            return before, ignored


def _is_small(files: list[Landed]) -> bool:
    return sum(file.file_bytes for file in files) <= SMALL_BATCH_BYTES_MAX
