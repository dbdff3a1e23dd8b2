"""Load averages, computed as Mosquitto's `calc_load` does."""

from math import exp

import pytest

from gateway.broker.server.status.load_average import LoadAverages


def test_a_steady_rate_is_approached_as_fast_as_the_window_states() -> None:
    averages = LoadAverages({"messages": 0}, 0.0)
    averages.update({"messages": 100}, 10.0)
    expected = {
        f"messages/{name}": 600 * (1 - exp(-10 / seconds))
        for name, seconds in (("1min", 60), ("5min", 300), ("15min", 900))
    }
    assert averages.values() == pytest.approx(expected)


def test_a_rate_is_a_count_in_a_minute_however_long_the_interval_was() -> None:
    averages = LoadAverages({"messages": 0}, 0.0)
    for step in range(1, 2001):
        averages.update({"messages": 7 * step}, 30.0 * step)
    assert averages.values()["messages/15min"] == pytest.approx(14.0)


def test_silence_lets_an_average_fall() -> None:
    averages = LoadAverages({"messages": 0}, 0.0)
    averages.update({"messages": 600}, 60.0)
    high = averages.values()["messages/1min"]
    averages.update({"messages": 600}, 120.0)
    assert averages.values()["messages/1min"] == pytest.approx(high * exp(-1))


def test_no_time_that_passed_changes_nothing() -> None:
    averages = LoadAverages({"messages": 0}, 5.0)
    averages.update({"messages": 600}, 5.0)
    assert averages.values()["messages/1min"] == 0.0
