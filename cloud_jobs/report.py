"""Results of a run, as values."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class TableCount:
    """Rows of a table: all, and how this run changed it. `changed` counts updated rows too."""

    rows: int
    changed: int
    duplicates: int = 0


@dataclass(frozen=True, slots=True)
class GatewayRange:
    """State of a gateway: its events are between the two sequences, over all boots."""

    gateway: str
    boots: int
    segments: int
    first_sequence: int
    last_sequence: int
    events: int
    bad_lines: int


@dataclass(frozen=True, slots=True)
class Gap:
    """Missing events (cloud_jobs.audit.gaps). The sequences are None for a break in the chain."""

    gateway: str
    kind: str
    segment: int
    from_sequence: int | None
    to_sequence: int | None
    detail: str


@dataclass(frozen=True, slots=True)
class RepeatedStart:
    """A board that gave the numbers of an earlier start again, `starts` times."""

    gateway: str
    device: str
    starts: int


@dataclass(frozen=True, slots=True)
class IngestReport:
    """One run. Counts called new, duplicate and quarantined are this run's; the others are
    totals of the tables.

    `quarantine` and `gaps` are the present state of the tables, not only this run's additions.
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

    def as_json(self) -> dict[str, Any]:
        """Return the report as JSON values; docs/commands.md has the keys."""
        quarantine = [
            {"kind": kind, "reason": reason, "rows": rows}
            for (kind, reason), rows in sorted(self.quarantine.items())
        ]
        rounded = {"seconds": round(self.seconds, 3)}
        return {**asdict(self), **rounded, "quarantine": quarantine}
