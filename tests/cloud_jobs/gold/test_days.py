"""One row per gateway and day, from all events of this day that have landed."""

from tests.cloud_jobs.conftest import Place


def test_days_have_the_sums_of_messages_and_events(golden: Place) -> None:
    daily, health = golden.rows("qos2_daily"), golden.rows("gateway_health")
    assert sum(row["messages"] for row in daily) == len(
        golden.rows("qos2_messages", "held IS NOT NULL")
    )
    assert sum(row["events"] for row in health) == len(golden.rows("events"))
    assert len({(row["gateway"], row["day"]) for row in health}) == len(health)


def test_times_are_never_below_nothing_and_lag_needs_a_right_clock(golden: Place) -> None:
    for row in golden.rows("qos2_daily", "hold_max_ms IS NOT NULL"):
        assert 0 <= row["hold_p50_ms"] <= row["hold_p99_ms"] <= row["hold_max_ms"]
    (boards,) = golden.rows("gateway_health", "gateway = 'boards'")
    assert boards["lag_max_seconds"] is None
    assert boards["segments"] == 1
