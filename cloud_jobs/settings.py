"""Settings of an ingest run that the Spark job cannot determine itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

NO_AUDIT_ALONE: Final = "--no-audit belongs to --gold: add --gold, or leave out --no-audit"
"""Error message for an ingestion without an audit, but also without an update of gold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestSettings:
    """Locations of landed segments, of the tables, and of Spark's downloads.

    `source` and `tables` are directories, or URLs that Spark's Hadoop file systems can list
    (`file:///...`, `s3a://...`). `cache_dir` is the directory that keeps the Delta Lake jars after
    the first start, so that later starts work offline. None means `oncegate/spark` in the user's
    cache directory.
    """

    source: str
    tables: str
    cache_dir: Path | None = None
    jars: Path | None = None
    """A directory with the jars that Spark needs, for machines without access to Maven Central. If
    None, the jars are downloaded."""
    keys: Path | None = None
    """The file with the gateways' public keys. If None, the first key of each gateway is
    trusted."""
    is_gold_updated: bool = False
    """True to update the gold tables after each ingestion, in the same Spark session."""
    is_audited: bool = True
    """True to also audit the ingested tables when the gold tables are updated."""
