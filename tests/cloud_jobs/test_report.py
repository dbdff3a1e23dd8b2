"""A report survives JSON, and a later run without news has the same totals."""

from __future__ import annotations

from cloud_jobs.report import IngestReport
from tests.cloud_jobs.test_report_text import report_of


def test_a_report_is_the_same_after_json_and_without_news_after_a_run_with_none() -> None:
    report = report_of([], 0, batches=3)
    assert IngestReport.from_json(report.as_json()) == report
    later = report.without_news("elsewhere", "tables", 0.5)
    assert (later.batches, later.events_new, later.source) == (0, 0, "elsewhere")
    assert {name: one.rows for name, one in later.tables.items()} == {
        name: one.rows for name, one in report.tables.items()
    }
