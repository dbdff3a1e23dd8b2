"""Ends of connections and of sessions (5.0 sections 3.1.2.11.2, 3.14 and 4.1)."""

import pytest

from gateway.broker.core.records.kinds import CloseReason
from gateway.broker.wire.packets import (
    Disconnect,
    Pingreq,
    Publish,
)
from tests.broker.core.harness import Client, Harness, payloads
from tests.broker.core.mqtt5 import (
    NEVER,
    connack_of,
    connect,
    end_of,
    is_there,
    properties,
    subscriber,
    will,
)


def disconnect(harness: Harness, client: Client, expiry: int | None) -> None:
    """Send DISCONNECT, with a session expiry interval if one is given, and do not commit."""
    values = {} if expiry is None else {"session_expiry_interval_seconds": expiry}
    client.send(Disconnect(0, properties(**values)))
    harness.flush()


@pytest.mark.parametrize("expiry", [0, 10, 1_000])
def test_a_disconnect_that_changes_the_session_expiry_closes_when_the_change_is_on_disk(
    harness: Harness, expiry: int
) -> None:
    client = connect(harness, "c", expiry=100)
    disconnect(harness, client, expiry)
    assert not client.connection.closing
    harness.commit()
    assert client.connection.closing
    harness.cut()
    assert ("c" in harness.broker.state.sessions) is (expiry > 0)
    if expiry:
        assert harness.session("c").expiry_seconds == expiry


def test_a_disconnect_that_changes_nothing_closes_immediately(harness: Harness) -> None:
    client = connect(harness, "c", expiry=100)
    disconnect(harness, client, None)
    assert client.connection.closing


@pytest.mark.parametrize("how", ["connect", "disconnect"])
def test_a_shorter_session_expiry_counts_while_the_timer_of_a_longer_one_runs(
    harness: Harness, how: str
) -> None:
    harness.lose(connect(harness, "c", expiry=1_000))
    harness.advance(10)
    if how == "connect":
        harness.lose(connect(harness, "c", expiry=20))
    else:
        disconnect(harness, connect(harness, "c", expiry=1_000), 20)
    harness.advance(19)
    assert "c" in harness.broker.state.sessions
    harness.advance(1)
    assert "c" not in harness.broker.state.sessions


def test_a_longer_session_expiry_counts_while_the_timer_of_a_shorter_one_runs(
    harness: Harness,
) -> None:
    for expiry in (50, 20, 1_000):
        harness.lose(connect(harness, "c", expiry=expiry))
        harness.advance(10)
    harness.advance(989)
    assert "c" in harness.broker.state.sessions
    harness.advance(1)
    assert "c" not in harness.broker.state.sessions


def test_a_client_that_comes_and_goes_has_one_timer(harness: Harness) -> None:
    harness.lose(connect(harness, "c", expiry=1_000))
    count = len(harness.broker.timers.heap)
    harness.advance(20)  # the time limit for a CONNECT has passed
    for _ in range(5):
        harness.lose(connect(harness, "c", expiry=1_000))
        harness.advance(20)
    assert len(harness.broker.timers.heap) <= count


@pytest.mark.statement("MQTT5-4.1.0-2", "MQTT5-4.1.0-1", "MQTT5-3.1.2-23")
@pytest.mark.parametrize("cut", ["none", "cut", "restart"])
def test_a_session_ends_when_its_expiry_interval_has_passed_and_not_before(
    harness: Harness, cut: str
) -> None:
    client = connect(harness, "c", expiry=10)
    harness.advance(1_000)  # while the client is connected, the session does not age
    harness.lose(client)
    harness.commit()
    if cut == "cut":
        harness.cut()
    elif cut == "restart":
        harness.restart()
    harness.advance(9)
    assert is_there(harness)
    harness.advance(1)
    assert not is_there(harness)
    assert connack_of(connect(harness, "c")).session_present is False


@pytest.mark.statement("MQTT5-4.1.0-2")
def test_a_session_that_was_resumed_counts_from_its_last_end(harness: Harness) -> None:
    harness.lose(connect(harness, "c", expiry=10))
    harness.advance(8)
    harness.lose(connect(harness, "c", expiry=10))
    harness.advance(8)
    assert is_there(harness)
    harness.advance(2)
    assert not is_there(harness)


@pytest.mark.statement("MQTT5-4.1.0-2", "MQTT5-3.1.2-23")
@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize(
    ("at_connect", "at_disconnect", "lives_seconds"),
    [(10, 0, 0), (10, 30, 30), (NEVER, 5, 5), (5, NEVER, None), (10, None, 10)],
)
def test_the_expiry_interval_can_be_changed_at_disconnect(
    harness: Harness,
    at_connect: int,
    at_disconnect: int | None,
    lives_seconds: int | None,
    cut: bool,
) -> None:
    client = connect(harness, "c", expiry=at_connect)
    changed = None
    if at_disconnect is not None:
        changed = properties(session_expiry_interval_seconds=at_disconnect)
    client.send(Disconnect(0, changed))
    harness.commit()
    if cut:
        harness.checkpoint()
        harness.cut()
    if lives_seconds is None:
        harness.advance(1_000_000)
        assert is_there(harness)
        return
    if lives_seconds:
        harness.advance(lives_seconds - 1)
        assert is_there(harness)
        harness.advance(1)
    assert not is_there(harness)


def test_a_session_without_expiry_cannot_be_given_one_at_disconnect(harness: Harness) -> None:
    watch = subscriber(harness, "watch", "w", 1)
    client = connect(harness, "c", expiry=0, will=will())
    client.send(Disconnect(0, properties(session_expiry_interval_seconds=10)))
    harness.commit()
    assert end_of(client) == 0x82
    assert not is_there(harness)
    assert payloads(watch.take()) == [b"will"]


def test_a_broker_that_stops_reports_it(harness: Harness) -> None:
    client = connect(harness, "c")
    harness.broker.connection_lost(client.connection, CloseReason.SHUTDOWN, harness.now)
    harness.commit()
    assert end_of(client) == 0x8B


def test_an_expiry_timer_that_comes_up_to_the_instant_ends_the_session(harness: Harness) -> None:
    harness.now = 1006.6949614707229  # rounding makes 20 seconds slightly less
    harness.lose(connect(harness, "c", expiry=20))
    harness.commit()
    while (due := harness.broker.next_due()) is not None and due < harness.now + 20:
        harness.broker.wake(due)
    assert due == harness.now + 20
    harness.broker.wake(due)
    harness.commit()
    assert not is_there(harness)


@pytest.mark.statement("MQTT5-3.14.4-2")
def test_nothing_is_looked_at_or_sent_after_a_disconnect(harness: Harness) -> None:
    watch = subscriber(harness, "watch", "t", 0)
    client = subscriber(harness, "c", "t", 0)
    client.send(Disconnect(0), Publish("t", b"late", 0, False, False, 0), Pingreq())
    harness.commit()
    assert client.closed
    assert client.take() == []
    assert payloads(watch.take()) == []


@pytest.mark.statement("MQTT5-3.14.4-3", "MQTT5-3.1.2-10")
def test_a_normal_disconnect_discards_the_will_and_one_with_0x04_does_not(
    harness: Harness,
) -> None:
    watch = subscriber(harness, "watch", "w", 1)
    for code, expected in ((0x00, []), (0x04, [b"will"])):
        client = connect(harness, "c", will=will())
        client.send(Disconnect(code))
        harness.commit()
        harness.advance(10)
        assert payloads(watch.take()) == expected


@pytest.mark.statement("MQTT5-3.1.2-8")
@pytest.mark.parametrize("code", [0x80, 0x81, 0x93, 0x98])
def test_a_disconnect_with_an_error_publishes_the_will(harness: Harness, code: int) -> None:
    # Only reason code 0x00 removes the will.
    watch = subscriber(harness, "watch", "w", 1)
    connect(harness, "c", will=will()).send(Disconnect(code))
    harness.commit()
    assert payloads(watch.take()) == [b"will"]
