"""Formats an ingest report as text tables for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cloud_jobs.report import IngestReport


def render(report: IngestReport) -> RenderableType:
    """Return the report as text and tables that `rich` can print."""
    parts: list[RenderableType] = [_summary(report), _tables(report)]
    if report.gateways:
        parts.append(_gateways(report))
    if report.quarantine:
        parts.append(_quarantine(report))
    if report.repeated_starts:
        parts.append(_repeated_starts(report))
    parts.append(_gaps(report))
    if report.gold is not None:
        parts.append(Text(f"Gold tables: {gold_line(report.gold)}"))
    return Group(*parts)


def gold_line(result: Mapping[str, Any]) -> str:
    """Return one line about an update of the gold tables (see `gold.run.result_of`)."""
    new = result["batches"]
    words = {0: "nothing new", 1: "1 new batch"}.get(new, f"{new:,} new batches")
    return f"up to batch {result['through_batch']:,} ({words}); `oncegate report` shows it"


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
