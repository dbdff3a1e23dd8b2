"""Readings in a bridge's report that the history has not recorded yet."""

from typing import Any

from api.history.readings import Readings
from tests.api import recorded
from tests.api.history.overviews import overview_of


def bridge_with(*quantities: dict[str, Any]) -> dict[str, Any]:
    status = recorded.bridge_status()
    status["ports"] = status["ports"][:1]
    status["ports"][0]["devices"][0]["quantities"] = list(quantities)
    return status


def test_numbers_and_truth_values_are_recorded_and_texts_are_not() -> None:
    readings = Readings().new_in(overview_of(bridge=recorded.bridge_status()))
    found = {each.name: (each.unit, each.last) for each in readings}
    assert found == {
        "sensors/board-0000002a/temperature": ("Cel", 21.5),
        "sensors/board-0000002a/relative_humidity": ("%RH", 48.200000762939453),
        "sensors/board-0000002a/pressure": ("Pa", 101_325.0),
        "sensors/board-0000002a/pump": ("", 1.0),
        "sensors/gps/latitude": ("lat", 48.1173),
        "sensors/gps/longitude": ("lon", 11.5166667),
    }


def test_a_value_is_recorded_once_however_often_it_is_reported() -> None:
    readings = Readings()
    quantity = recorded.quantity("temperature", 21.5, "Cel")
    overview = overview_of(bridge=bridge_with(quantity))
    assert len(readings.new_in(overview)) == 1
    assert readings.new_in(overview) == []
    later = {**quantity, "time_ms": quantity["time_ms"] + 200}
    assert len(readings.new_in(overview_of(bridge=bridge_with(later)))) == 1


def test_steps_of_a_fast_quantity_are_recorded_once_each_with_their_extremes() -> None:
    start_ms = recorded.NOW_MS // 5000 * 5000 - 10_000
    steps = [
        {"start_ms": start_ms + 5000 * n, "count": 50, "low": n, "mean": 2.5, "high": 9, "last": 3}
        for n in range(3)
    ]
    readings = Readings()
    quantity = recorded.quantity("current", 4, "A")
    first = readings.new_in(overview_of(bridge=bridge_with({**quantity, "steps": steps[:2]})))
    then = readings.new_in(overview_of(bridge=bridge_with({**quantity, "steps": steps[1:]})))
    assert [(each.time_ms, each.count, each.low) for each in (*first, *then)] == [
        (start_ms, 50, 0),
        (start_ms + 5000, 50, 1),
        (recorded.NOW_MS // 5000 * 5000, 50, 2),
    ]


def test_a_reading_from_the_past_or_the_future_is_placed_at_the_time_of_its_report() -> None:
    for time_ms in (recorded.NOW_MS - 3_600_000, recorded.NOW_MS + 60_000, 0):
        quantity = {**recorded.quantity("temperature", 21.5, "Cel"), "time_ms": time_ms}
        (reading,) = Readings().new_in(overview_of(bridge=bridge_with(quantity)))
        assert reading.time_ms == recorded.NOW_MS


def test_without_a_report_there_are_no_readings() -> None:
    assert Readings().new_in(overview_of(bridge=None)) == []
