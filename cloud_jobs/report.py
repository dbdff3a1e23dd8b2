"""The report of an ingest run, as dataclasses."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class TableCount:
    """Number of rows in a table, and number of rows that this run added or updated (`changed`)."""

    rows: int
    changed: int
    duplicates: int = 0


@dataclass(frozen=True, slots=True)
class GatewayRange:
    """Summary of the events of one gateway, over all starts of its broker.

    `first_sequence` and `last_sequence` are the lowest and the highest event number.
    """

    gateway: str
    boots: int
    segments: int
    first_sequence: int
    last_sequence: int
    events: int
    bad_lines: int


@dataclass(frozen=True, slots=True)
class Gap:
    """A gap in a gateway's events (see cloud_jobs.audit.gaps).

    If the gap is a break in the chain of segment hashes, both event numbers are None.
    """

    gateway: str
    kind: str
    segment: int
    from_sequence: int | None
    to_sequence: int | None
    detail: str


@dataclass(frozen=True, slots=True)
class RepeatedStart:
    """A board that reused the numbers of earlier starts, and the count of reused numbers."""

    gateway: str
    device: str
    starts: int


@dataclass(frozen=True, slots=True)
class IngestReport:
    """The report of one ingest run.

    Counts of new, duplicate and quarantined items refer to this run; all other counts are totals of
    the tables. `quarantine` and `gaps` describe the tables as they are now, not only the additions
    of this run.
    """

    source: str
    tables_root: str
    seconds: float
    batches: int
    segments_ingested: int
    segments_quarantined: int
    segments_duplicate: int
    events_new: int
    events_duplicate: int
    readings_new: int
    readings_duplicate: int
    quarantined_new: int
    files_ignored: int
    tables: dict[str, TableCount] = field(default_factory=dict)
    quarantine: dict[tuple[str, str], int] = field(default_factory=dict)
    gateways: list[GatewayRange] = field(default_factory=list)
    gateways_count: int = 0
    gaps: list[Gap] = field(default_factory=list)
    gaps_count: int = 0
    repeated_starts: list[RepeatedStart] = field(default_factory=list)
    gold: dict[str, Any] | None = None
    """The result of the update of the gold tables, if there was one (see `gold.run.result_of`)."""

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values. docs/commands.md explains the keys."""
        quarantine = [
            {"kind": kind, "reason": reason, "rows": rows}
            for (kind, reason), rows in sorted(self.quarantine.items())
        ]
        rounded = {"seconds": round(self.seconds, 3)}
        return {**asdict(self), **rounded, "quarantine": quarantine}
