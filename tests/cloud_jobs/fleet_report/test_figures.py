"""Reading gold tables without Spark."""

import datetime
from pathlib import Path

import pytest

from cloud_jobs.fleet_report.figures import ReportError, address_of, read_figures
from tests.cloud_jobs.conftest import Place

NOW = datetime.datetime(2025, 11, 22, tzinfo=datetime.UTC)


def test_sums_are_those_of_the_tables(golden: Place) -> None:
    figures = read_figures(golden.settings.tables, 7, NOW)
    assert figures.days[-1] == datetime.date(2025, 11, 21)
    days = "day BETWEEN DATE '2025-11-15' AND DATE '2025-11-21'"
    daily = golden.rows("qos2_daily", days)
    shown = sum(row["messages"] for row in figures.fleet.values())
    assert shown == sum(row["messages"] for row in daily) > 0
    assert figures.gaps_count == len(golden.rows("gaps"))
    assert len(figures.cells) == len(golden.rows("gateway_health", days))


def test_tables_that_are_not_there_are_one_line_with_the_mend(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"run `oncegate gold` first$"):
        read_figures(str(tmp_path), 7, NOW)


def test_an_address_is_the_one_that_the_library_reads() -> None:
    assert address_of("s3a://bucket/tables/", "gaps") == "s3://bucket/tables/gaps"
    assert address_of("file:///srv/t", "gaps") == "/srv/t/gaps"
