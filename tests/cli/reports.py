"""Reports of an ingestion, for tests of the commands that print them."""

from cloud_jobs.report import IngestReport

REPORT = IngestReport(
    source="landed",
    tables_root="tables",
    seconds=1.5,
    batches=1,
    segments_ingested=2,
    segments_quarantined=0,
    segments_duplicate=0,
    events_new=3,
    events_duplicate=0,
    readings_new=1,
    readings_duplicate=0,
    quarantined_new=0,
    files_ignored=0,
)
