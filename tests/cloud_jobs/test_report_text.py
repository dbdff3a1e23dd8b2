"""A run's report as text for the operator."""

from __future__ import annotations

import io
from dataclasses import replace

from rich.console import Console

from cloud_jobs.report import Gap, GatewayRange, IngestReport, TableCount
from cloud_jobs.report_text import render


def shown(report: IngestReport) -> str:
    console = Console(file=io.StringIO(), width=120)
    console.print(render(report))
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def report_of(gaps: list[Gap], gaps_count: int, batches: int = 1) -> IngestReport:
    return IngestReport(
        source="landed",
        tables_root="tables",
        seconds=1.25,
        batches=batches,
        segments_ingested=1200,
        segments_quarantined=1,
        segments_duplicate=2,
        events_new=5000,
        events_duplicate=7,
        readings_new=42,
        readings_duplicate=0,
        quarantined_new=1,
        files_ignored=3,
        tables={"events": TableCount(9999, 5000, 7)},
        quarantine={("segment", "[cut]"): 1},
        gateways=[GatewayRange("gw-1", 2, 1200, 1, 9999, 9990, 0)],
        gateways_count=2,
        gaps=gaps,
        gaps_count=gaps_count,
    )


def test_an_update_of_gold_is_a_line_of_the_report() -> None:
    report = report_of([], 0)
    assert "Gold" not in shown(report)
    gold = {"batches": 2, "through_batch": 1200}
    text = shown(replace(report, gold=gold))
    assert "Gold tables: up to batch 1,200 (2 new batches); `oncegate report` shows it" in text


def test_the_report_has_what_is_new_what_is_refused_and_what_is_missing() -> None:
    gap = Gap("gw-1", "sequence", 7, 4001, 4009, "look for it on the gateway")
    text = shown(report_of([gap], 2))
    for shown_text in (
        "1,200 segments ingested",
        "1 in quarantine",
        "3 files do not end in .zst",
        "5,000",
        "[cut]",
        "gw-1",
        "4,001-4,009",
        "look for it on the gateway",
        "1 more are not shown",
    ):
        assert shown_text in text


def test_a_log_without_gaps_is_reported_as_such_and_an_idle_run_as_idle() -> None:
    text = shown(report_of([], 0, batches=0))
    assert "Nothing new has landed." in text
    assert "No gaps" in text


def test_a_hostile_name_is_shown_and_not_obeyed() -> None:
    gap = Gap("[bold red]x[/]", "chain", 7, None, None, "[link=x]")
    text = shown(report_of([gap], 1))
    assert "[bold red]x[/]" in text
    assert "[link=x]" in text
