"""Timers expire in order, are unique for each kind, and are removed with their connection."""

from gateway.broker.wire.packets import Subscribe, Subscription, Will
from tests.broker.core.harness import Harness
from tests.broker.core.mqtt5 import connect, properties


def test_connections_that_come_and_go_leave_no_timers(harness: Harness) -> None:
    for number in range(200):
        client = harness.connect(str(number % 7), clean=True, keep_alive_seconds=600)
        client.send(Subscribe(1, [Subscription("#", 0)]))
        harness.broker.set_writable(client.connection, False, harness.now)
        harness.lose(client)
        harness.lose(harness.open_connection())
    harness.commit()
    assert harness.broker.timers.heap == []
    assert harness.broker.timers.by_connection == {}
    assert harness.broker.core.replays == {}


def test_a_session_that_comes_and_goes_has_one_timer_of_a_kind(harness: Harness) -> None:
    will = Will("w", b"x", 1, False, properties(will_delay_interval_seconds=4_000_000))
    for _ in range(50):
        harness.lose(connect(harness, "c", expiry=4_000_000, will=will))
    assert len(harness.broker.timers.heap) == 2
    harness.lose(connect(harness, "c", expiry=4_000_000, will=will))
    again = connect(harness, "c", expiry=0, clean=True)
    assert list(harness.broker.timers.by_connection) == [again.connection]
    assert harness.broker.timers.by_session == {}


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
    assert timers.by_connection == {}
