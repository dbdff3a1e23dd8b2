"""Curves in the format that a page's script reads."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from cloud_jobs.fleet_report import curves as curves_module
from cloud_jobs.fleet_report.curves import Packed, Span, curves_of, quarter_days_of
from cloud_jobs.fleet_report.open_tables import open_tables
from cloud_jobs.fleet_report.sensors import SensorReader
from tests.cloud_jobs.fleet_report.simulated_fleet import write_tables
from tests.cloud_jobs.fleet_report.test_sensors import DAY, HOUR, NOW, row

BACK = datetime.timedelta(days=1)
MIDNIGHT = datetime.datetime(DAY.year, DAY.month, DAY.day, tzinfo=datetime.UTC)


def packed(root: Path, days: list[Any], quarters: list[Any], gateway: str = "hall") -> Packed:
    boots = [{"gateway": gateway, "last_time": NOW}]
    write_tables(root, {"sensor_days": days, "sensor_quarters": quarters, "boots": boots})
    tables = open_tables(str(root)).engine
    first = DAY - 29 * BACK
    series = SensorReader(tables, first=first, last=DAY, now=NOW).series_of([gateway])
    return curves_of(tables, series, Span(first, DAY, 2))[gateway]


def test_a_curve_has_a_slot_a_day_from_the_first_with_readings_and_none_where_there_are_none(
    tmp_path: Path,
) -> None:
    found = packed(tmp_path, [row(day=DAY - 3 * BACK, mean=1.25), row(missing=2)], [])
    assert found["days"] == ["2026-01-27", 4]
    (series,) = found["series"]
    assert series["d"]["mean"] == "1.25,,,20.5"
    assert series["d"]["missing"] == "0,,,2"
    assert "repeats" not in series["d"]
    assert (series["quantity"], series["unit"], series["q"]) == ("temperature", "°C", {})


def test_quarters_of_an_hour_are_those_of_the_newest_days(tmp_path: Path) -> None:
    quarters = [row(begin=MIDNIGHT + n * HOUR / 4, mean=n + 0.5, minimum=n, maximum=n + 1)
                for n in (2, 3, 6)]  # fmt: skip
    old = row(begin=MIDNIGHT - 9 * 24 * HOUR, day=DAY - 9 * BACK)
    found = packed(tmp_path, [row()], [old, *quarters])
    assert found["quarters"] == ["2026-01-30T00:30Z", 5]
    assert found["series"][0]["q"]["mean"] == "2.5,3.5,,,6.5"


def test_a_time_before_its_day_is_not_drawn(tmp_path: Path) -> None:
    broken = row(begin=datetime.datetime(1970, 1, 1, 5, tzinfo=datetime.UTC))
    found = packed(tmp_path, [row()], [broken, row(begin=MIDNIGHT)])
    assert found["quarters"] == ["2026-01-30T00:00Z", 1]


def test_lowest_and_highest_are_left_out_where_they_are_the_mean(tmp_path: Path) -> None:
    quarter = row(begin=MIDNIGHT, minimum=4.0, mean=4.0, maximum=4.0)
    assert packed(tmp_path, [row()], [quarter])["series"][0]["q"] == {"mean": "4"}


def test_a_value_that_is_no_number_is_left_out(tmp_path: Path) -> None:
    found = packed(tmp_path, [row(mean=float("inf"), maximum=float("nan"))], [])
    assert found["series"][0]["d"]["mean"] == ""


def test_a_large_fleet_has_fewer_days_by_quarter_of_an_hour() -> None:
    assert [quarter_days_of(series) for series in (0, 400, 20_000, 1_000_000)] == [7, 7, 2, 1]


def test_of_a_gateway_with_too_many_series_only_those_shown_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloud_jobs.fleet_report.sensors.SERIES_PER_GATEWAY_MAX", 2)
    monkeypatch.setattr(curves_module, "SERIES_PER_GATEWAY_MAX", 2)
    found = packed(tmp_path, [row(f"kettle/it's {n}") for n in range(5)], [])
    assert [series["d"]["mean"] for series in found["series"]] == ["20.5", "20.5"]
