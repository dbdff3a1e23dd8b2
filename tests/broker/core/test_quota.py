"""Each limit of a quota applies to a user and to clients without a user, with its own counter."""

from collections.abc import Callable
from typing import Final

import pytest

from gateway.broker.core.login_rates import BURST_SECONDS
from gateway.broker.core.quota import Quota
from gateway.broker.wire.packets import Pingreq, Publish, Subscription
from tests.broker.core.harness import Harness
from tests.broker.core.mqtt5 import connect, publish, subscribe
from tests.broker.core.owned import limit, log_in

Act = Callable[[Harness, str], None]


def connect_two(harness: Harness, name: str) -> None:
    for client_id in ("c1", "c2"):
        log_in(harness, name, client_id)


def subscribe_two(harness: Harness, name: str) -> None:
    subscribe(harness, log_in(harness, name, "c"), Subscription("x", 1), Subscription("y", 1))


def retain_two(harness: Harness, name: str) -> None:
    client = log_in(harness, name, "c")
    for topic in ("x", "y"):
        publish(harness, client, topic, b"kept", retain=True)


def queue_two(harness: Harness, name: str) -> None:
    client = log_in(harness, name, "c")
    subscribe(harness, client, Subscription("t", 1))
    harness.lose(client)
    sender = connect(harness, "sender") if name else log_in(harness, "ben", "sender")
    for _ in range(2):
        publish(harness, sender, "t", bytes(600))


def hold_two(harness: Harness, name: str) -> None:
    client = log_in(harness, name, "c")
    for packet_id in (1, 2):
        client.send(Publish("t", bytes(15_000), 2, False, False, packet_id))
        harness.commit()


def log_in_often(harness: Harness, name: str) -> None:
    for _ in range(int(BURST_SECONDS) + 1):
        harness.lose(log_in(harness, name, "c", clean=True))


def send_much(harness: Harness, name: str) -> None:
    client = log_in(harness, name, "c")
    client.send(*[Pingreq()] * 1_000)
    (meter,) = client.connection.meters
    # Only the event loop counts this limit, when it stops reading:
    # tests/broker/server/event_loop/test_rates.py.
    harness.broker.statistics.count_error(meter.limit)


def record_much(harness: Harness, name: str) -> None:
    client = log_in(harness, name, "c")
    (meter,) = client.connection.meters
    assert meter.free_at == harness.now
    client.send(Publish("t", bytes(2_000), 1, False, False, 1))
    meter.record(harness.broker.batch.pending_bytes(), harness.now)
    assert meter.free_at > harness.now + 3_600
    harness.broker.statistics.count_error(meter.limit)


CASES: Final[dict[str, tuple[int, Act]]] = {
    "connections": (1, connect_two),
    "sessions": (1, connect_two),
    "subscriptions": (1, subscribe_two),
    "subscription_bytes": (500, subscribe_two),
    "retained": (1, retain_two),
    "retained_bytes": (600, retain_two),
    "queued_bytes": (1_000, queue_two),
    "held_bytes": (20_000, hold_two),
    "login_rate": (1, log_in_often),
    "packet_rate": (1, send_much),
    "byte_rate": (128, send_much),
    "journal_bytes_per_day": (1_000, record_much),
}
COUNTERS: Final = {"held_bytes": "awaiting_rel_bytes"}
NOT_COUNTED: Final = {"prefix", "session_expiry_seconds"}


def test_each_limit_of_a_quota_is_tried() -> None:
    fields = getattr(Quota, "__mypyc_attrs__", None) or vars(Quota())
    assert set(CASES) == set(fields) - NOT_COUNTED


@pytest.mark.parametrize("field", CASES)
@pytest.mark.parametrize(("name", "prefix"), [("ann", "user_"), ("", "anonymous_")])
def test_what_is_beyond_a_limit_is_counted_under_its_name(
    harness: Harness, name: str, prefix: str, field: str
) -> None:
    most, act = CASES[field]
    limit(harness, name, **{field: most})
    act(harness, name)
    counter = prefix + COUNTERS.get(field, field)
    statistics = harness.broker.statistics
    if field == "queued_bytes":  # a message dropped from a queue counts with all dropped messages
        assert statistics.dropped == {"queue_bytes": 1}
        assert any(f"{counter} reached" in each for each, _ in statistics.notices)
    else:
        assert set(statistics.errors) == {counter}
