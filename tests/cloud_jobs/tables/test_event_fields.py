"""The contract's page and the job's table of fields agree."""

from __future__ import annotations

from pathlib import Path

from cloud_jobs.tables.event_fields import KNOWN_EVENTS

PAGE = Path(__file__).parents[3] / "docs" / "formats" / "session-log.md"


def test_the_contracts_page_and_the_job_know_the_same_events() -> None:
    rows = [line.split("`")[1] for line in PAGE.read_text().splitlines() if line.startswith("| `")]
    assert set(rows) >= KNOWN_EVENTS
