"""State that a start restores from the run before, and the time that passed in between."""

from tests.broker.core.harness import Harness
from tests.broker.core.mqtt5 import connect, is_there, subscriber


def test_the_time_the_broker_was_off_counts(harness: Harness) -> None:
    harness.lose(connect(harness, "c", expiry=10))
    harness.commit()
    harness.time_ms += 60_000  # the power was off for a minute
    harness.cut()
    harness.advance(0)
    assert not is_there(harness)


def test_a_session_that_was_resumed_without_expiry_ends_with_a_power_cut(
    harness: Harness,
) -> None:
    harness.lose(subscriber(harness, "c", "t", 1))
    connect(harness, "c", expiry=0)
    harness.cut()
    harness.advance(0)
    assert not is_there(harness)
    harness.checkpoint()
    assert harness.rows("subscriptions", "sessions") == {"subscriptions": 0, "sessions": 0}
