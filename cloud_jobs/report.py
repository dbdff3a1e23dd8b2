"""What a run found, as values to test against and as a table to look at."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text


@dataclass(frozen=True, slots=True)
class TableCount:
    """Rows of a table: all, and how this run changed it. `changed` counts updated rows too."""

    rows: int
    changed: int
    duplicates: int = 0


@dataclass(frozen=True, slots=True)
class GatewayRange:
    """What is known of a gateway: its events lie between the two sequences, over all boots."""

    gateway: str
    boots: int
    segments: int
    first_sequence: int
    last_sequence: int
    events: int
    bad_lines: int


@dataclass(frozen=True, slots=True)
class Gap:
    """What is missing (cloud_jobs.audit.gaps). The sequences are None for a break in the chain."""

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


_NEWS: Final = (
    "batches",
    "segments_ingested",
    "segments_quarantined",
    "segments_duplicate",
    "events_new",
    "events_duplicate",
    "readings_new",
    "readings_duplicate",
    "quarantined_new",
)
"""What a report counts of its own run."""


@dataclass(frozen=True, slots=True)
class IngestReport:
    """One run. Counts called new, duplicate and quarantined are this run's; the rest is all there
    is.

    `quarantine` and `gaps` are what stands in the tables now, not only what this run added.
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

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> IngestReport:
        """Make a report of what `as_json` made.

        Raises KeyError, TypeError or AttributeError for anything else.
        """
        parts = {
            "tables": {name: TableCount(**count) for name, count in values["tables"].items()},
            "quarantine": {(r["kind"], r["reason"]): r["rows"] for r in values["quarantine"]},
            "gateways": [GatewayRange(**each) for each in values["gateways"]],
            "gaps": [Gap(**each) for each in values["gaps"]],
            "repeated_starts": [RepeatedStart(**each) for each in values["repeated_starts"]],
        }
        return cls(**{**values, **parts})

    def without_news(self, source: str, tables_root: str, seconds: float) -> IngestReport:
        """Return the report of a later run on the same tables that finds nothing new."""
        none: dict[str, Any] = dict.fromkeys(_NEWS, 0)
        return replace(
            self,
            source=source,
            tables_root=tables_root,
            seconds=seconds,
            tables={name: TableCount(count.rows, 0) for name, count in self.tables.items()},
            **none,
        )


def render(report: IngestReport) -> RenderableType:
    """Render the report for a terminal."""
    parts: list[RenderableType] = [_summary(report), _tables(report)]
    if report.gateways:
        parts.append(_gateways(report))
    if report.quarantine:
        parts.append(_quarantine(report))
    if report.repeated_starts:
        parts.append(_repeated_starts(report))
    parts.append(_gaps(report))
    return Group(*parts)


def _number(value: int, style: str = "") -> Text:
    return Text(f"{value:,}", style=style if value else "dim")


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _summary(report: IngestReport) -> Text:
    if not report.batches:
        text = Text("Nothing new has landed.", style="bold")
    else:
        text = Text.assemble(
            (_counted(report.segments_ingested, "segment") + " ingested", "bold green"),
            f", {report.segments_duplicate:,} doubled, ",
            (
                f"{report.segments_quarantined:,} in quarantine",
                "bold red" if report.segments_quarantined else "",
            ),
        )
    text.append(f"  ({report.source}, {report.seconds:.1f} s)", style="dim")
    if report.files_ignored:
        text.append(f"\n{report.files_ignored:,} files do not end in .zst: ignored", "yellow")
    return text


def _tables(report: IngestReport) -> Table:
    title = Text(f"Tables in {report.tables_root}", style="bold")
    table = Table(title=title, title_justify="left")
    table.add_column("table", style="bold cyan")
    for name in ("rows", "new or changed", "repeats skipped"):
        table.add_column(name, justify="right")
    for name, count in report.tables.items():
        alarm = "red" if name == "quarantine" else "green"
        table.add_row(
            name,
            _number(count.rows, "red" if name == "quarantine" else ""),
            _number(count.changed, alarm),
            _number(count.duplicates, "yellow"),
        )
    return table


def _gateways(report: IngestReport) -> Table:
    table = Table(title="Gateways", title_justify="left")
    table.add_column("gateway", style="bold cyan")
    for name in ("boots", "segments", "events", "first", "last", "lines refused"):
        table.add_column(name, justify="right")
    for one in report.gateways:
        table.add_row(
            Text(one.gateway),
            _number(one.boots),
            _number(one.segments),
            _number(one.events),
            _number(one.first_sequence),
            _number(one.last_sequence),
            _number(one.bad_lines, "red"),
        )
    if report.gateways_count > len(report.gateways):
        table.caption = f"{report.gateways_count - len(report.gateways):,} more are not shown"
    return table


def _quarantine(report: IngestReport) -> Table:
    table = Table(title="Quarantine", title_justify="left")
    table.add_column("what", style="bold red")
    table.add_column("reason")
    table.add_column("rows", justify="right")
    table.caption = "all that was ever refused, segments that landed well later too"
    for (kind, reason), count in sorted(report.quarantine.items()):
        table.add_row(Text(kind), Text(reason), _number(count))
    return table


def _repeated_starts(report: IngestReport) -> Table:
    table = Table(title="Boards that gave their numbers again", title_justify="left")
    for name in ("gateway", "board"):
        table.add_column(name, style="bold cyan")
    table.add_column("new starts", justify="right")
    table.caption = (
        "flashed again or replaced; each start is stored by itself, and nothing is missing"
    )
    for one in report.repeated_starts:
        table.add_row(Text(one.gateway), Text(one.device), _number(one.starts))
    return table


def _gaps(report: IngestReport) -> RenderableType:
    if not report.gaps_count:
        return Text("No gaps: every event between the first and the last is here.", "bold green")
    table = Table(
        title=_counted(report.gaps_count, "gap"), title_justify="left", title_style="bold red"
    )
    for name in ("gateway", "kind", "events", "before segment", "why"):
        table.add_column(name, overflow="fold")
    for gap in report.gaps:
        missing = f"{gap.from_sequence:,}-{gap.to_sequence:,}" if gap.from_sequence else ""
        table.add_row(Text(gap.gateway), gap.kind, missing, f"{gap.segment:,}", Text(gap.detail))
    if report.gaps_count > len(report.gaps):
        table.caption = f"{report.gaps_count - len(report.gaps):,} more are not shown"
    return table
