"""The message rate of one client: how much it may send per second."""

from gateway.broker.core.sessions.meter import Meter
from tests.broker.core.harness import Harness
from tests.broker.core.mqtt5 import connect
from tests.broker.core.owned import limit, log_in


def test_ten_seconds_worth_come_together_and_what_is_more_is_owed() -> None:
    meter = Meter(10, 0, 100.0, prefix="max_")
    meter.spend(100, 5_000, 100.0)
    assert meter.free_at == 100.0
    meter.spend(30, 5_000, 100.0)
    assert (meter.free_at, meter.limit) == (103.0, "max_packet_rate")


def test_the_limit_that_is_longest_exceeded_counts() -> None:
    meter = Meter(10, 1_000, 0.0, prefix="user_")
    meter.spend(110, 15_000, 0.0)
    assert (meter.free_at, meter.limit) == (5.0, "user_byte_rate")


def test_the_log_has_a_line_a_minute() -> None:
    meter = Meter(1, 1, 0.0, prefix="max_")
    assert [meter.wants_line(now) for now in (0.0, 1.0, 59.0, 60.0)] == [True, False, False, True]


def test_a_user_has_a_rate_of_its_own_and_others_have_none(harness: Harness) -> None:
    limit(harness, "ann", packet_rate=5)
    ann = log_in(harness, "ann", "a").connection
    assert len(ann.meters) == 1
    assert log_in(harness, "ben", "b").connection.meters == ()
    assert connect(harness, "c").connection.meters == ()


def test_what_came_into_the_journal_is_owed_over_a_day_and_packets_forget_nothing_of_it() -> None:
    meter = Meter(10, 0, 0.0, prefix="anonymous_", journal_bytes_per_day=86_400)
    meter.record(86_400, 0.0)
    assert meter.free_at == 0.0
    meter.record(100, 0.0)
    assert (meter.free_at, meter.limit) == (100.0, "anonymous_journal_bytes_per_day")
    meter.spend(110, 0, 0.0)
    assert (meter.free_at, meter.limit) == (100.0, "anonymous_journal_bytes_per_day")
    assert not meter.is_full(50.0)
    assert meter.is_full(90_000.0)
