"""The page as a document: whole, closed to the network, and safe against names."""

import dataclasses
import datetime
from typing import Any

from cloud_jobs.fleet_report.figures import Figures
from cloud_jobs.fleet_report.page import page_of

DAY = datetime.date(2026, 1, 2)
NOW = datetime.datetime(2026, 1, 2, 12, tzinfo=datetime.UTC)
EMPTY = Figures("/t", NOW, 0, [DAY], 0, 0, [], [], {}, [], [], [], 0, [])


def test_a_fleet_without_a_gateway_has_a_page() -> None:
    assert "not audited yet" in page_of(EMPTY)


def test_a_gap_of_a_hostile_gateway_is_text_and_nothing_is_loaded() -> None:
    gap: dict[str, Any] = {"gateway": "<img src=x>", "kind": "sequence", "segment": 2,
                           "missing": 3, "day": DAY, "detail": "<script>"}  # fmt: skip
    page = page_of(dataclasses.replace(EMPTY, gaps=[gap], gaps_count=1))
    assert "<img" not in page
    assert "&lt;script&gt;" in page
    assert "default-src 'none'" in page
    assert "http://" not in page
    assert "https://" not in page
