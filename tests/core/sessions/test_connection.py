"""What a connection had in memory goes when it is closed, not when its last timer comes up."""

import tracemalloc
from collections.abc import Iterator

import pytest

from gateway.wire.encoder import encode
from gateway.wire.packets import Publish, Subscribe, Subscription, Will
from tests.core.harness import Client, Harness
from tests.core.mqtt5 import connect, properties

CONNECTIONS = 30
TOPIC_BYTES = 60_000
KEPT_BYTES_MAX = 3_000_000
"""16 routes with topics of 60 kB, and what a closed connection itself is; the aliases alone would
be 28 MB, the parts of packets 30 MB."""


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def alias_all(client: Client) -> None:
    """Give all numbers there are to long topics, then send half a packet."""
    for alias in range(1, client.harness.limits.max_topic_alias + 1):
        topic = f"{alias:02}" + "x" * (TOPIC_BYTES - 2)
        client.send(Publish(topic, b"", 0, False, False, 0, properties(topic_alias=alias)))
    whole = encode(Publish("t", b"x" * 2_000_000, 1, False, False, 1), 5)
    client.send_bytes(whole[:1_000_000])


@pytest.mark.parametrize("end", ["lost", "wrong", "taken over"])
def test_aliases_and_parts_of_packets_go_when_the_connection_is_closed(
    harness: Harness, traced: None, end: str
) -> None:
    before, _ = tracemalloc.get_traced_memory()
    for number in range(CONNECTIONS):
        name = "one" if end == "taken over" else str(number)
        client = connect(harness, name, expiry=0, keep_alive_seconds=60)
        alias_all(client)
        if end == "lost":
            harness.lose(client)
        elif end == "wrong":
            client.send_bytes(b"x" * 1_100_000)
    if end == "taken over":
        connect(harness, "one", expiry=0)
    harness.commit()
    after, _ = tracemalloc.get_traced_memory()
    # The harness holds on to all connections, as a socket that is slow to close does.
    assert len(harness.clients) >= CONNECTIONS
    assert after - before < KEPT_BYTES_MAX


def test_connections_that_come_and_go_leave_no_timers(harness: Harness) -> None:
    for number in range(200):
        client = harness.connect(str(number % 7), clean=True, keep_alive_seconds=600)
        client.send(Subscribe(1, [Subscription("#", 0)]))
        harness.broker.set_writable(client.connection, False, harness.now)
        harness.lose(client)
        harness.lose(harness.open_connection())
    harness.commit()
    assert harness.broker.timers.heap == []
    assert harness.broker.timers.of_connections == {}
    assert harness.broker.rules.retained_replay.replays == {}


def test_a_session_that_comes_and_goes_has_one_timer_of_a_kind(harness: Harness) -> None:
    will = Will("w", b"x", 1, False, properties(will_delay_interval_seconds=4_000_000))
    for _ in range(50):
        harness.lose(connect(harness, "c", expiry=4_000_000, will=will))
    assert len(harness.broker.timers.heap) == 2
    harness.lose(connect(harness, "c", expiry=4_000_000, will=will))
    again = connect(harness, "c", expiry=0, clean=True)
    assert list(harness.broker.timers.of_connections) == [again.connection]
    assert harness.broker.timers.of_sessions == {}


def test_timers_come_up_in_order_whatever_was_taken_out(harness: Harness) -> None:
    clients = [
        harness.connect(f"{number}", clean=True, keep_alive_seconds=1 + number * 37 % 100)
        for number in range(100)
    ]
    for client in clients[::3]:
        harness.lose(client)
    timers = harness.broker.timers
    due: list[float] = []
    while timers.heap:
        timer = timers.take_due(timers.heap[0].due, timers.count)
        assert timer is not None
        due.append(timer.due)
    assert due == sorted(due)
    assert len(due) == 2 * (len(clients) - len(clients[::3])), "keep-alive, and CONNECT in time"
    assert timers.of_connections == {}
