"""Batch after batch, until nothing that has landed is left."""

from __future__ import annotations

from collections.abc import Callable

from cloud_jobs.ingest.batch import Batch, last_finished
from cloud_jobs.ingest.keys_file import NO_KEYS, load_keys
from cloud_jobs.ingest.landing import list_landed
from cloud_jobs.settings import IngestSettings
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
            more, ignored = True, 0
        else:
            listing = list_landed(tables, settings.source, pinned)
            more, ignored = listing.more, listing.ignored
            if not listing.files:
                return before, ignored
            progress(f"batch {batch.number}: verifying {len(listing.files)} segments")
            batch.stage(listing.files)
        batch.complete()
        finished += 1
        if not more:
            return before, ignored
