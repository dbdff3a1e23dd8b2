"""Records of changes to the state, and the sequence number that each record gets."""

from gateway.broker.core.records.events import decode
from gateway.broker.wire.packets import (
    Subscribe,
    Subscription,
)
from tests.broker.core.harness import Harness
from tests.broker.core.records.story import events_of, record_a_life


def test_sequence_numbers_have_no_gap_over_a_power_cut(harness: Harness) -> None:
    record_a_life(harness)
    harness.cut()
    record_a_life(harness)
    expected = 1
    for blob in harness.blobs:
        batch = decode(blob)
        assert batch.first_sequence == expected
        expected += len(batch.events)


def test_a_subscription_of_a_clean_session_is_no_fact(harness: Harness) -> None:
    client = harness.connect("c", clean=True)
    client.send(Subscribe(1, [Subscription("t", 1)]))
    harness.commit()
    assert "subscribed" not in [event["event"] for event in events_of(harness)]
