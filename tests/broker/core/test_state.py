"""Limits of the state: retained messages stay within their memory."""

from pathlib import Path

from gateway.broker.core.limits import Limits
from gateway.broker.wire.packets import (
    Publish,
)
from tests.broker.core.harness import Harness


def test_retained_messages_take_no_more_memory_than_allowed(tmp_path: Path) -> None:
    limits = Limits()
    limits.max_retained_bytes = 6_000
    harness = Harness(tmp_path, limits)
    publisher = harness.connect("p")
    for number in range(1, 6):
        publisher.send(Publish(f"r/{number}", b"x" * 900, 1, True, False, number))
    harness.commit()
    assert sorted(harness.broker.state.retained) == ["r/1", "r/2", "r/3"]
    publisher.send(Publish("r/1", b"y" * 2_000, 1, True, False, 9))
    harness.commit()
    # The new message was refused, and the outdated one is not kept either.
    assert sorted(harness.broker.state.retained) == ["r/2", "r/3"]
    assert harness.broker.statistics.errors == {"max_retained_bytes": 3}
    harness.checkpoint()
    harness.cut()
    retained = harness.broker.state.retained
    assert harness.broker.state.retained_totals.memory_bytes == sum(
        m.retained_bytes() for m in retained.values()
    )
    publisher = harness.connect("p")
    for topic in list(retained):
        publisher.send(Publish(topic, b"", 1, True, False, 1))
    harness.commit()
    assert harness.broker.state.retained_totals.memory_bytes == 0
    harness.close()
