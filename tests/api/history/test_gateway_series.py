"""The gateway's own series: rates from counters."""

import pytest

from api.history.gateway_series import UNITS, GatewaySeries, quantile_of
from api.status.machine import Machine
from tests.api import recorded
from tests.api.history.overviews import overview_of

BEFORE = Machine((100, 1000), 0.5, 40.0, 1_000_000)
AFTER = Machine((150, 1200), 0.25, 41.5, 2_000_000)

BOUNDS = (1.0, 2.0, 4.0)


def test_counters_become_rates_and_gauges_stay() -> None:
    series = GatewaySeries()
    bounds = [1.0, 2.0]
    status = recorded.status()
    status["journal"]["commit_histogram"] = {"bounds_ms": bounds, "counts": [5, 0, 0]}
    first = series.readings_of(overview_of(status, answered_at=10.0), BEFORE)
    assert "gateway/messages_in" not in {each.name for each in first}
    status["messages"]["received"]["qos2"] += 50
    status["messages"]["sent"]["qos1"] += 100
    status["journal"]["commit_histogram"] = {"bounds_ms": bounds, "counts": [5, 10, 0]}
    bridge = recorded.bridge_status()
    bridge["outbox"]["delivery_seconds"] = 0.012
    then = series.readings_of(overview_of(status, bridge, answered_at=15.0), AFTER)
    assert {each.name.removeprefix("gateway/"): each.last for each in then} == {
        "messages_in": 10.0,
        "messages_out": 20.0,
        "queued_messages": 12,
        "delivery_seconds": 0.012,
        "commit_p50": 1.5,
        "commit_p99": 1.99,
        "connections": 3,
        "disk_free": 9_000_000_000,
        "disk_written": 200_000,
        "cpu": 25.0,
        "memory": 25.0,
        "temperature": 41.5,
        "upload_waiting": 0,
    }
    assert {each.name.removeprefix("gateway/") for each in then} == set(UNITS)


def test_a_broker_that_was_restarted_has_no_rate_over_the_restart() -> None:
    series = GatewaySeries()
    status = recorded.status()
    series.readings_of(overview_of(status, answered_at=10.0), BEFORE)
    status["boot"] = "ffff77d1b2c94e65"
    status["messages"]["received"]["qos2"] = 0
    names = {
        each.name for each in series.readings_of(overview_of(status, answered_at=15.0), BEFORE)
    }
    assert not names & {"gateway/messages_in", "gateway/messages_out", "gateway/commit_p50"}


@pytest.mark.parametrize(
    ("counts", "share", "expected"),
    [
        ((0, 0, 0, 0), 0.5, None),
        ((10, 0, 0, 0), 0.5, 0.5),
        ((0, 10, 0, 0), 0.5, 1.5),
        ((50, 0, 50, 0), 0.99, 3.96),
        ((0, 0, 0, 1), 0.5, 6.0),
        ((1, 1), 0.5, None),
    ],
)
def test_a_quantile_is_within_its_class(
    counts: tuple[int, ...], share: float, expected: float | None
) -> None:
    assert quantile_of(BOUNDS, counts, share) == pytest.approx(expected)
