"""The measurements of a run: rates, shares and faults, and the bottleneck."""

import dataclasses
import json

import pytest

from gateway.tools.bench.result import rate_of
from gateway.tools.bench.scenario import Scenario
from tests.tools.bench.results import CLEAN, reading, result, usage


def test_rates_count_from_the_start_to_the_stop_and_the_warm_up_is_left_out() -> None:
    measured = result(reading(2.0, 1_000), reading(6.0, 9_000)).as_json()
    assert measured["seconds"] == 4.0
    assert measured["messages"] == {"sent": 8_000, "received": 8_000, "completed": 8_000}
    assert measured["per_second"]["received"] == 2_000.0
    assert measured["total"]["received"] == 9_000


def test_where_no_subscriber_is_the_rate_is_of_what_was_sent() -> None:
    before, now = reading(0.0, 0, received=0), reading(2.0, 500, received=0)
    assert rate_of(before, now) == 250.0
    measured = result(before, now, scenario=Scenario(subscribers=0))
    assert measured.counted == 500
    assert rate_of(before, before) == 0.0


@pytest.mark.parametrize(
    ("generator", "broker", "rate", "limit"),
    [
        (0.5, 0.5, None, "neither"),
        (0.95, 0.5, None, "generator"),
        (0.5, 0.95, None, "broker"),
        (0.95, 0.95, None, "broker"),
        (0.95, None, None, "generator"),
        (0.95, 0.95, 100.0, "rate"),
    ],
)
def test_what_limits_a_run_is_the_busy_broker_before_the_busy_generator(
    generator: float, broker: float | None, rate: float | None, limit: str
) -> None:
    start = reading(0.0, 0, broker=None if broker is None else usage())
    stop = reading(
        10.0,
        100,
        cpu_seconds=10 * generator,
        broker=None if broker is None else usage(10 * broker),
    )
    assert result(start, stop, scenario=Scenario(rate=rate)).limit == limit


@pytest.mark.parametrize("name", [field.name for field in dataclasses.fields(CLEAN)])
def test_one_fault_of_any_kind_makes_a_run_unclean(name: str) -> None:
    start, stop = reading(0.0, 0), reading(1.0, 10)
    assert result(start, stop).is_clean
    faults = dataclasses.replace(CLEAN, **{name: 1})
    assert not result(start, stop, faults=faults).is_clean


def test_costs_of_the_broker_are_for_each_message_and_unknown_ones_are_null() -> None:
    start = reading(0.0, 0, broker=usage(1.0, 1_000))
    stop = reading(10.0, 2_000, broker=usage(2.0, 401_000))
    broker = result(start, stop).as_json()["broker"]
    assert broker["cpu_seconds_per_million"] == 500.0
    assert (broker["written_bytes"], broker["written_bytes_per_message"]) == (400_000, 200.0)
    hidden = reading(10.0, 2_000, broker=usage(2.0, None))
    assert result(start, hidden).as_json()["broker"]["written_bytes"] is None
    nothing = reading(10.0, 0, broker=usage(2.0, 401_000))
    assert result(start, nothing).as_json()["broker"]["written_bytes_per_message"] is None
    assert result(reading(0.0, 0), stop).as_json()["broker"] is None


def test_a_password_is_not_in_the_json() -> None:
    scenario = Scenario(username="loader", password=b"secret")
    text = json.dumps(result(reading(0.0, 0), reading(1.0, 1), scenario=scenario).as_json())
    assert "loader" in text
    assert "secret" not in text
