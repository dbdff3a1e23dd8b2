"""A large SUBSCRIBE is processed in slices, and acknowledged after the last slice."""

from pathlib import Path

import pytest

from gateway.broker.core.limits import Limits
from gateway.broker.core.work import SLICE_UNITS
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import (
    Pingreq,
    Pingresp,
    Publish,
    Suback,
    Subscribe,
    Subscription,
)
from tests.broker.core.harness import Harness, publishes
from tests.broker.core.mqtt5 import connect
from tests.broker.core.rules.subscribe.test_retained import retain_many
from tests.broker.core.slices import ONE_STEP_UNITS, slices_of


def test_a_filter_that_stands_in_one_subscribe_many_times_is_gone_through_once(
    harness: Harness,
) -> None:
    retain_many(harness, 2_000)
    client = connect(harness, "c")
    client.take()
    again = [Subscription("#", number % 3) for number in range(300)]
    spent = slices_of(client, Subscribe(1, [*again, Subscription("r/1", 0)]))
    assert sum(spent) < 3 * 2_000, "seen before: 300 walks, 2.1 s over 20,000 messages"
    harness.commit()
    (suback,) = [packet for packet in client.take() if isinstance(packet, Suback)]
    assert suback.reason_codes == [number % 3 for number in range(300)] + [0]
    assert harness.session("c").subscriptions["#"].qos == 2, "as the last one requests"


@pytest.mark.parametrize("handling", [(1, 1), (2, 0), (0, 2), (1, 2)])
def test_of_repeated_filters_the_last_decides_about_what_is_retained(
    harness: Harness, handling: tuple[int, int]
) -> None:
    retain_many(harness, 1)
    client = connect(harness, "c", expiry=0)
    client.take()
    client.send(Subscribe(1, [Subscription("#", 0, False, False, each) for each in handling]))
    harness.commit()
    assert len(publishes(client.take())) == (handling[-1] != 2)


def test_many_filters_over_many_retained_messages_are_worked_on_in_slices(
    harness: Harness,
) -> None:
    retain_many(harness, 5_000)
    client = connect(harness, "c")
    client.take()
    filters = [Subscription("/".join(["+"] * depth + ["#"]), 1) for depth in range(40)]
    spent = slices_of(client, Subscribe(1, filters), Pingreq(), seal=True)
    assert len(spent) > 10
    assert max(spent) < SLICE_UNITS + ONE_STEP_UNITS
    harness.commit()
    kinds = [type(packet) for packet in client.take() if not isinstance(packet, Publish)]
    assert sorted(kinds, key=str) == [Pingresp, Suback]


def test_what_a_persistent_session_finds_in_slices_is_on_disk_before_suback(
    tmp_path: Path,
) -> None:
    limits = Limits()
    limits.max_inflight = 10
    harness = Harness(tmp_path, limits)
    count = SLICE_UNITS + 100
    retain_many(harness, count, qos=1)
    client = connect(harness, "c")
    client.take()
    spent = slices_of(client, Subscribe(1, [Subscription("r/#", 1)]), seal=True)
    assert max(spent) < SLICE_UNITS + ONE_STEP_UNITS
    assert not [packet for packet in client.take() if isinstance(packet, Suback)]
    harness.seal()
    assert [packet for packet in client.take() if isinstance(packet, Suback)]
    harness.cut()
    session = harness.session("c")
    assert len(session.outbound) + session.queued_count == count
    harness.close()


def test_a_connection_that_is_lost_in_the_middle_of_its_subscribe_leaves_nothing_behind(
    harness: Harness,
) -> None:
    retain_many(harness, 5_000)
    client = connect(harness, "c")
    filters = [Subscription("/".join(["+"] * depth + ["#"]), 1) for depth in range(40)]
    data = encode(Subscribe(1, filters), 5)
    harness.broker.receive(client.connection, data, harness.now)
    assert client.connection.has_more_work
    harness.lose(client)
    harness.broker.continue_connection(client.connection, harness.now)
    assert not client.connection.has_more_work
    assert harness.broker.core.pending_subscribes == {}
    assert len(harness.session("c").subscriptions) == 40
