"""What one client may send in a second."""

from gateway.core.sessions.meter import Meter
from tests.core.harness import Harness
from tests.core.mqtt5 import connect
from tests.core.owned import limit, log_in


def test_ten_seconds_worth_come_together_and_what_is_more_is_owed() -> None:
    meter = Meter("max_", 10, 0, 100.0)
    meter.spend(100, 5_000, 100.0)
    assert meter.free_at == 100.0
    meter.spend(30, 5_000, 100.0)
    assert (meter.free_at, meter.limit) == (103.0, "max_packet_rate")


def test_the_limit_that_is_longest_exceeded_counts() -> None:
    meter = Meter("user_", 10, 1_000, 0.0)
    meter.spend(110, 15_000, 0.0)
    assert (meter.free_at, meter.limit) == (5.0, "user_byte_rate")


def test_the_log_has_a_line_a_minute() -> None:
    meter = Meter("max_", 1, 1, 0.0)
    assert [meter.wants_line(now) for now in (0.0, 1.0, 59.0, 60.0)] == [True, False, False, True]


def test_a_user_has_a_rate_of_its_own_and_others_have_none(harness: Harness) -> None:
    limit(harness, "ann", packet_rate=5)
    ann = log_in(harness, "ann", "a").connection
    assert ann.meter is not None
    assert log_in(harness, "ben", "b").connection.meter is None
    assert connect(harness, "c").connection.meter is None
