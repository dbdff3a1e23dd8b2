"""Wills in MQTT 5.0: the delay against clean start, session expiry, takeover and power cuts."""

import pytest

from gateway.broker.wire.packets import Disconnect, Will
from tests.broker.core.harness import Harness, payloads, publishes
from tests.broker.core.mqtt5 import NEVER, connect, end_of, properties, subscriber, will


@pytest.mark.statement("MQTT5-3.1.2-8", "MQTT5-3.1.2-10")
@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize(
    ("expiry", "delay", "due"),
    [
        (0, 0, 0),
        (0, 10, 0),  # the session ends with its connection, so its will is due
        (5, 10, 5),
        (10, 5, 5),
        (NEVER, 5, 5),
        (NEVER, 0, 0),
    ],
)
def test_a_will_comes_after_its_delay_or_with_the_end_of_its_session_whichever_is_first(
    harness: Harness, expiry: int, delay: int, due: int, cut: bool
) -> None:
    watch = subscriber(harness, "watch", "w", 1)
    client = connect(harness, "c", expiry=expiry, will=will(delay=delay))
    harness.lose(client)
    harness.commit()
    came = payloads(watch.take())
    if cut:
        harness.cut()
        watch = connect(harness, "watch")
        watch.take()
    for second in range(due):
        assert came == [], f"after {second} s of {due}"
        harness.advance(1)
        came += payloads(watch.take())
    assert came == [b"will"]
    harness.advance(100)
    assert payloads(watch.take()) == []


@pytest.mark.statement("MQTT5-3.1.3-9", "MQTT5-3.1.2-5")
@pytest.mark.parametrize("cut", [False, True])
def test_a_client_that_comes_back_in_time_takes_its_will_back(harness: Harness, cut: bool) -> None:
    watch = subscriber(harness, "watch", "w", 1)
    harness.lose(connect(harness, "c", will=will(delay=10)))
    harness.advance(9)
    if cut:
        harness.cut()
        watch = connect(harness, "watch")
        harness.advance(0)
    connect(harness, "c")
    harness.advance(100)
    assert payloads(watch.take()) == []
    assert harness.broker.state.wills == {}


def test_the_will_of_the_new_connection_takes_the_place_of_the_one_that_waited(
    harness: Harness,
) -> None:
    watch = subscriber(harness, "watch", "w", 1)
    harness.lose(connect(harness, "c", will=will(b"first", delay=10)))
    harness.advance(5)
    harness.lose(connect(harness, "c", will=will(b"second", delay=10)))
    harness.advance(6)  # the first will would be due
    assert payloads(watch.take()) == []
    harness.advance(4)
    assert payloads(watch.take()) == [b"second"]
    harness.advance(100)
    assert payloads(watch.take()) == []


@pytest.mark.statement("MQTT5-3.1.4-3", "MQTT5-3.1.4-4", "MQTT5-3.1.3-9")
@pytest.mark.parametrize("delay", [0, 10])
@pytest.mark.parametrize("expiry", [0, 5, NEVER])
@pytest.mark.parametrize("clean", [False, True])
def test_a_takeover_publishes_the_will_unless_its_delay_lets_the_session_go_on(
    harness: Harness, clean: bool, expiry: int, delay: int
) -> None:
    watch = subscriber(harness, "watch", "w", 1)
    first = connect(harness, "c", expiry=expiry, will=will(delay=delay))
    second = connect(harness, "c", clean=clean)
    assert end_of(first) == 0x8E
    goes_on = not clean and expiry > 0
    assert second.received[0].session_present is goes_on  # type: ignore[attr-defined]
    assert payloads(watch.take()) == ([] if goes_on and delay else [b"will"])
    harness.advance(100)
    assert payloads(watch.take()) == []


@pytest.mark.statement("MQTT5-3.1.4-4", "MQTT5-3.1.2-4")
def test_a_clean_start_ends_the_session_and_with_it_the_wait_of_its_will(
    harness: Harness,
) -> None:
    watch = subscriber(harness, "watch", "w", 1)
    harness.lose(connect(harness, "c", will=will(delay=10)))
    harness.commit()
    assert payloads(watch.take()) == []
    connect(harness, "c", clean=True)
    assert payloads(watch.take()) == [b"will"]


@pytest.mark.statement("MQTT5-3.1.2-8", "MQTT5-3.14.4-3")
def test_a_disconnect_that_ends_the_session_lets_the_delayed_will_go_immediately(
    harness: Harness,
) -> None:
    watch = subscriber(harness, "watch", "w", 1)
    client = connect(harness, "c", will=will(delay=10))
    client.send(Disconnect(0x04, properties(session_expiry_interval_seconds=0)))
    harness.commit()
    assert payloads(watch.take()) == [b"will"]
    assert "c" not in harness.broker.state.sessions


@pytest.mark.statement("MQTT5-3.1.3-10", "MQTT5-3.1.2-9", "MQTT5-3.3.2-6")
@pytest.mark.parametrize("cut", [False, True])
def test_a_delayed_will_keeps_its_properties_and_its_expiry_begins_with_its_publication(
    harness: Harness, cut: bool
) -> None:
    watch = subscriber(harness, "watch", "w", 1)
    left = will(
        delay=10,
        message_expiry_interval_seconds=5,
        payload_format_indicator=1,
        content_type="text/plain",
        response_topic="answers",
        correlation_data=b"7",
        user_properties=[("b", "1"), ("a", "2"), ("b", "3")],
    )
    harness.lose(connect(harness, "c", will=left))
    harness.commit()
    if cut:
        harness.cut()
        watch = connect(harness, "watch")
    harness.advance(10)
    (packet,) = publishes(watch.take())
    assert packet.properties == properties(
        message_expiry_interval_seconds=5,
        payload_format_indicator=1,
        content_type="text/plain",
        response_topic="answers",
        correlation_data=b"7",
        user_properties=[("b", "1"), ("a", "2"), ("b", "3")],
    )


def test_a_will_that_expires_in_a_queue_is_not_delivered(harness: Harness) -> None:
    harness.lose(subscriber(harness, "watch", "w", 1))
    harness.lose(connect(harness, "c", will=will(delay=10, message_expiry_interval_seconds=5)))
    harness.advance(10)
    assert harness.session("watch").queued_count == 1
    harness.advance(6)
    assert payloads(connect(harness, "watch").take()) == []
    assert harness.broker.statistics.dropped == {"expired": 1}


@pytest.mark.statement("MQTT5-3.1.2-14", "MQTT5-3.1.2-15")
@pytest.mark.parametrize("retain", [False, True])
def test_a_will_is_retained_if_its_flag_is_set(harness: Harness, retain: bool) -> None:
    harness.lose(connect(harness, "c", expiry=0, will=Will("w", b"gone", 1, retain)))
    harness.commit()
    assert ("w" in harness.broker.state.retained) is retain


def test_many_simultaneous_connects_leave_one_connection_and_publish_each_will_once(
    harness: Harness,
) -> None:
    watch = subscriber(harness, "watch", "w", 1)
    clients = [
        connect(harness, "c", will=will(b"%d" % number, delay=number % 2 * 10))
        for number in range(20)
    ]
    assert [end_of(client) for client in clients[:-1]] == [0x8E] * 19
    assert not clients[-1].closed
    # Only wills without a delay arrive; the next connection removed each of the others.
    assert payloads(watch.take()) == [b"%d" % number for number in range(0, 20, 2)]
    assert harness.broker.statistics.connections_open == 2
