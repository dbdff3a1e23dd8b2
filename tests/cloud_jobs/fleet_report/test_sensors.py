"""Sensors read from the gold tables: totals, and which sensors are silent."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from cloud_jobs.fleet_report.open_tables import open_tables
from cloud_jobs.fleet_report.sensors import SensorReader, Series
from tests.cloud_jobs.fleet_report.simulated_fleet import write_tables

NOW = datetime.datetime(2026, 1, 30, 12, tzinfo=datetime.UTC)
DAY = NOW.date()
MINUTE = datetime.timedelta(minutes=1)
HOUR = datetime.timedelta(hours=1)
Row = dict[str, Any]


def row(name: str = "kettle/temperature", device: str | None = "kettle", **columns: Any) -> Row:
    """Return one row of `sensor_days`: 61 readings within an hour that ended 2 minutes ago."""
    last = columns.pop("last_time", NOW - 2 * MINUTE)
    return {
        "gateway": "hall", "device": device, "name": name, "unit": "Cel", "day": DAY,
        "readings": 61, "first_time": last - HOUR, "last_time": last, "first": 20.0, "last": 21.0,
        "minimum": 19.0, "mean": 20.5, "maximum": 22.0, "missing": 0, "repeats": 0,
        "time_quality": "synchronised", **columns,
    }  # fmt: skip


def reader_of(root: Path, days: list[Row], *, seen: datetime.datetime = NOW) -> SensorReader:
    boots = [{"gateway": g, "last_time": seen} for g in {each["gateway"] for each in days}]
    write_tables(root, {"sensor_days": days, "boots": boots})
    first = DAY - datetime.timedelta(days=29)
    return SensorReader(open_tables(str(root)).engine, first=first, last=DAY, now=NOW)


def only(reader: SensorReader, gateway: str = "hall") -> Series:
    (series,) = reader.series_of([gateway])[gateway]
    return series


def test_a_series_has_the_sums_of_its_days_and_the_last_value(tmp_path: Path) -> None:
    before = row(day=DAY - datetime.timedelta(days=1), last_time=NOW - 24 * HOUR, readings=2,
                 minimum=5.0, mean=41.5, maximum=50.0, last=7.0, missing=3, repeats=1,
                 time_quality="corrected")  # fmt: skip
    series = only(reader_of(tmp_path, [before, row()]))
    assert (series.readings, series.missing, series.repeats) == (63, 3, 1)
    assert (series.minimum, series.maximum, series.last) == (5.0, 50.0, 21.0)
    assert series.mean == pytest.approx((41.5 * 2 + 20.5 * 61) / 63)
    assert series.time_quality == "corrected"
    assert (series.sensor, series.quantity) == ("kettle", "temperature")
    assert not series.is_silent


def test_a_text_has_its_last_text_and_no_numbers(tmp_path: Path) -> None:
    numbers: dict[str, Any] = dict.fromkeys(("first", "last", "minimum", "mean", "maximum"))
    series = only(reader_of(tmp_path, [row(last_text="open", **numbers)]))
    assert (series.last_text, series.last, series.mean) == ("open", None, None)


def test_a_reading_without_a_device_is_a_sensor_by_its_name(tmp_path: Path) -> None:
    series = only(reader_of(tmp_path, [row("attic/door", None)]))
    assert (series.sensor, series.quantity) == ("attic/door", "attic/door")


def test_a_counter_has_its_increase_and_resets(tmp_path: Path) -> None:
    days = [row("m/energy", "m", increase=8.0, resets=1, day=DAY - datetime.timedelta(days=n))
            for n in range(3)]  # fmt: skip
    series = only(reader_of(tmp_path, days))
    assert (series.increase, series.resets) == (24.0, 3)


@pytest.mark.parametrize(
    ("readings", "last", "seen", "is_silent"),
    [
        pytest.param(61, NOW - 59 * MINUTE, NOW, False, id="within an hour"),
        pytest.param(61, NOW - 61 * MINUTE, NOW, True, id="frequent and over an hour"),
        pytest.param(2, NOW - 179 * MINUTE, NOW, False, id="hourly within three"),
        pytest.param(2, NOW - 181 * MINUTE, NOW, True, id="hourly over three"),
        pytest.param(61, NOW - 5 * HOUR, NOW - 5 * HOUR, False, id="with its gateway"),
        pytest.param(61, NOW - 23 * HOUR, NOW - 23 * HOUR, False, id="gateway away for 23 hours"),
        pytest.param(61, NOW - 25 * HOUR, NOW - 25 * HOUR, True, id="gateway away for a day"),
        pytest.param(1, NOW - 23 * HOUR, NOW, False, id="interval unknown, within a day"),
        pytest.param(1, NOW - 25 * HOUR, NOW, True, id="interval unknown, over a day"),
    ],
)
def test_a_sensor_is_silent_by_the_rule_of_the_page(
    tmp_path: Path,
    readings: int,
    last: datetime.datetime,
    seen: datetime.datetime,
    is_silent: bool,
) -> None:
    reader = reader_of(tmp_path, [row(last_time=last, readings=readings)], seen=seen)
    assert only(reader).is_silent == is_silent


def test_a_sensor_that_sends_once_a_day_is_not_silent_after_a_day(tmp_path: Path) -> None:
    days = [row(readings=1, last_time=NOW - n * 24 * HOUR - 20 * HOUR,
                day=DAY - datetime.timedelta(days=n + 1)) for n in range(5)]  # fmt: skip
    for each in days:
        each["first_time"] = each["last_time"]
    assert not only(reader_of(tmp_path, days)).is_silent


def test_an_outage_does_not_lengthen_the_usual_interval(tmp_path: Path) -> None:
    early = row(day=DAY - datetime.timedelta(days=20), last_time=NOW - 480 * HOUR)
    series = only(reader_of(tmp_path, [early, row(last_time=NOW - 2 * HOUR)]))
    assert series.usual == 60
    assert series.is_silent


def test_sensors_of_a_silent_gateway_are_not_named_beside_it(tmp_path: Path) -> None:
    gone = NOW - 48 * HOUR
    reader = reader_of(tmp_path, [row(last_time=gone)], seen=gone)
    assert only(reader).is_silent
    assert reader.faults().silent_count == 0


def test_faults_are_those_of_a_sensor_with_all_its_quantities(tmp_path: Path) -> None:
    late: dict[str, Any] = {"last_time": NOW - 5 * HOUR}
    reader = reader_of(
        tmp_path, [row(**late), row("kettle/power", **late), row("door/open", "door", missing=7)]
    )
    faults = reader.faults()
    (silent,) = faults.silent
    assert silent["sensor"] == "kettle"
    assert sorted(silent["names"]) == ["kettle/power", "kettle/temperature"]
    assert [(each["sensor"], each["missing"]) for each in faults.missing] == [("door", 7)]


def test_a_missing_number_counts_once_for_a_sensor_whose_frames_have_several_quantities(
    tmp_path: Path,
) -> None:
    reader = reader_of(
        tmp_path,
        [row(missing=3), row("kettle/power", missing=3), row("door/open", "door", missing=2)],
    )
    faults = reader.faults()
    assert [(each["sensor"], each["missing"]) for each in faults.missing] == [
        ("kettle", 3),
        ("door", 2),
    ]
    counts = reader.counts_of(["hall"])["hall"]
    assert (counts["own_missing"], counts["sensors"], counts["series"]) == (5, 2, 3)


def test_a_name_with_quotes_is_a_name_in_the_query_too(tmp_path: Path) -> None:
    hostile = "a' OR '1'='1\\"
    reader = reader_of(tmp_path, [row(gateway=hostile), row()])
    assert list(reader.series_of([hostile])) == [hostile]
    assert list(reader.counts_of([hostile])) == [hostile]


def test_series_of_a_gateway_are_bounded_and_those_in_trouble_are_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cloud_jobs.fleet_report.sensors.SERIES_PER_GATEWAY_MAX", 2)
    days = [row(f"kettle/q{n}") for n in range(9)]
    days[7]["last_time"] = NOW - 9 * HOUR
    days[5]["missing"] = 4
    reader = reader_of(tmp_path, days)
    names = {series.name for series in reader.series_of(["hall"])["hall"]}
    assert names == {"kettle/q7", "kettle/q5"}
    assert reader.counts_of(["hall"])["hall"]["series"] == 9
