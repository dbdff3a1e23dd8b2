"""Times from a device whose clock is wrong do not become the time of a reading."""

from datetime import UTC, datetime

import pytest
from firmware_bridge.readings.device_clock import (
    AHEAD_SECONDS_MAX,
    LAG_SECONDS_MAX,
    checked_times,
    hours_off,
    iso_of,
)
from firmware_bridge.readings.measurement import Measurement, Quantities

NOW = 1769270545.0  # 2026-01-24 16:02:25 UTC
YEAR = 366 * 86400


def power(time: float | None, *, is_past: bool = False) -> Quantities:
    return {"power": [Measurement("power", 1.5, "kW", time, is_past=is_past)]}


def at(year: int) -> float:
    return datetime(year, 1, 1, tzinfo=UTC).timestamp()


@pytest.mark.parametrize("time", [at(2000), at(2068), at(1999), NOW + YEAR, NOW - 2 * YEAR])
def test_a_time_that_is_years_off_becomes_a_value_and_the_reading_has_that_of_arrival(
    time: float,
) -> None:
    found, not_used = checked_times(power(time), NOW)
    assert found == {
        "power": [Measurement("power", 1.5, "kW", device_time_seconds=time)],
        "device_time": [Measurement("device_time", iso_of(time))],
    }
    assert not_used == time


@pytest.mark.parametrize(
    "time", [None, -60.0, 0.0, NOW, NOW - LAG_SECONDS_MAX, NOW + AHEAD_SECONDS_MAX, NOW - 3600]
)
def test_other_times_stay(time: float | None) -> None:
    quantities = power(time)
    assert checked_times(quantities, NOW) == (quantities, None)


@pytest.mark.parametrize(
    ("difference", "hours"),
    [(0.0, 0), (3600.0, 1), (3660.0, 1), (-3590.0, -1), (7200.0, 2), (5400.0, 0), (13 * 3600.0, 0)],
)
def test_a_clock_that_is_whole_hours_off_is_in_another_time_zone(
    difference: float, hours: int
) -> None:
    now = {"meter_time": [Measurement("meter_time", "x", time_seconds=NOW + difference)]}
    assert hours_off(now, NOW) == hours
    assert hours_off(power(NOW + difference), NOW) == 0


def test_entries_of_a_log_may_be_years_old_but_not_older_than_logs() -> None:
    assert checked_times(power(at(2012), is_past=True), NOW)[1] is None
    assert checked_times(power(at(2000), is_past=True), NOW)[1] == at(2000)
    assert checked_times(power(at(2068), is_past=True), NOW)[1] == at(2068)


def test_one_wrong_time_costs_no_other_and_the_latest_is_named() -> None:
    found, not_used = checked_times(
        {**power(NOW), "gas": [Measurement("gas", 1, "m3", at(2000))],
         "water": [Measurement("water", 1, "m3", at(2001))]}, NOW,
    )  # fmt: skip
    assert found["power"] == power(NOW)["power"]
    assert found["gas"][0].time_seconds is None
    assert not_used == at(2001)


def test_a_quantity_of_the_device_s_own_with_that_name_stays() -> None:
    own = {"device_time": [Measurement("device_time", "12:00", None, at(2000))]}
    found, _ = checked_times(own, NOW)
    assert found["device_time"][0].value == "12:00"


def test_nothing_is_judged_by_a_gateway_whose_clock_is_not_set() -> None:
    quantities = power(NOW)
    assert checked_times(quantities, 100.0) == (quantities, None)
    assert checked_times(quantities, at(2020)) == (quantities, None)


def test_a_time_is_written_as_iso_8601() -> None:
    assert iso_of(at(2000)) == "2000-01-01T00:00:00Z"
    assert iso_of(253402300799.9) == "9999-12-31T23:59:59Z"
