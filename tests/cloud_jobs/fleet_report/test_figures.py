"""Reading gold tables without Spark."""

import datetime
from pathlib import Path
from typing import Any

import pytest

from cloud_jobs.fleet_report.figures import read_figures
from cloud_jobs.fleet_report.open_tables import ReportError
from cloud_jobs.fleet_report.page import page_of
from tests.cloud_jobs.conftest import Place
from tests.cloud_jobs.fleet_report.simulated_fleet import write_tables

NOW = datetime.datetime(2025, 11, 22, tzinfo=datetime.UTC)


def test_sums_are_those_of_the_tables(golden: Place) -> None:
    figures = read_figures(golden.settings.tables, 7, NOW)
    assert 1 <= len(figures.days) <= 7
    assert figures.days[0] in {row["day"] for row in golden.rows("gateway_health", "events > 0")}
    days = f"day BETWEEN DATE '{figures.days[0]}' AND DATE '{figures.days[-1]}'"
    daily = golden.rows("qos2_daily", days)
    shown = sum(row["messages"] for row in figures.fleet.values())
    assert shown == sum(row["messages"] for row in daily) > 0
    assert figures.gaps_count == len(golden.rows("gaps"))
    assert len(figures.cells) == len(golden.rows("gateway_health", days))


def test_a_gateway_that_was_silent_all_the_time_is_counted_and_in_map_and_table(
    tmp_path: Path,
) -> None:
    day = NOW.date()
    rows: dict[str, list[dict[str, Any]]] = {
        "gateway_health": [{"gateway": "busy", "day": day, "events": 5}],
        "boots": [{"gateway": "busy", "last_time": NOW},
                  {"gateway": "quiet", "last_time": NOW - datetime.timedelta(days=90)}],
        "gold_runs": [{"run": 1, "through_batch": 3, "is_done": True}],
    }  # fmt: skip
    write_tables(tmp_path, rows)
    figures = read_figures(str(tmp_path), 7, NOW)
    assert (figures.gateways_count, figures.silent_count) == (2, 1)
    assert [row["gateway"] for row in figures.gateways] == ["quiet", "busy"]
    page = page_of(figures)
    assert "<dt>Silent for a day</dt><dd>1</dd>" in page
    assert '<span class="badge bad">silent</span>' in page
    assert "No event for 90 d, since 2025-08-24 00:00 UTC" in page
    assert 'class="none"' in page


def test_a_clock_that_is_ahead_does_not_hide_that_a_gateway_is_silent(tmp_path: Path) -> None:
    days = datetime.timedelta(days=1)
    rows: dict[str, list[dict[str, Any]]] = {
        "gateway_health": [{"gateway": "hall", "day": NOW.date(), "events": 5}],
        "boots": [{"gateway": "hall", "last_time": NOW - 2 * days},
                  {"gateway": "hall", "last_time": NOW + 9_000 * days}],
    }  # fmt: skip
    write_tables(tmp_path, rows)
    figures = read_figures(str(tmp_path), 7, NOW)
    assert figures.silent_count == 1
    assert figures.gateways[0]["last_seen"] == NOW - 2 * days


def test_tables_without_sensors_give_the_figures_that_they_have(tmp_path: Path) -> None:
    rows: dict[str, list[dict[str, Any]]] = {"boots": [{"gateway": "hall", "last_time": NOW}]}
    write_tables(tmp_path, rows, has_sensors=False)
    figures = read_figures(str(tmp_path), 7, NOW)
    assert not figures.has_sensors
    assert figures.gateways_count == 1


def test_tables_that_do_not_exist_are_one_line_with_the_fix(tmp_path: Path) -> None:
    with pytest.raises(ReportError, match=r"run `oncegate gold` first$"):
        read_figures(str(tmp_path), 7, NOW)
