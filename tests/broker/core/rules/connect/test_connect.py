"""CONNECT packets with invalid fields are refused, and the packets after them are ignored."""

import pytest

from gateway.broker.wire.packets import (
    Connack,
    Connect,
    Publish,
    Will,
)
from tests.broker.core.harness import Harness, payloads
from tests.broker.core.mqtt5 import (
    connack_of,
    connect,
    subscriber,
)


@pytest.mark.statement("MQTT5-3.1.3-8", "MQTT5-3.2.2-6", "MQTT5-3.2.2-7")
def test_a_client_identifier_that_is_too_long_is_refused(harness: Harness) -> None:
    client = connect(harness, "c" * 2_000)
    answer = connack_of(client)
    assert (answer.session_present, answer.reason_code) == (False, 0x85)
    assert client.closed


@pytest.mark.statement("MQTT5-3.1.4-6")
def test_what_follows_a_refused_connect_is_not_looked_at(harness: Harness) -> None:
    watch = subscriber(harness, "watch", "t", 0)
    client = harness.open_connection(5, anonymous=False)
    client.send(Connect(5, "c", False, 0, None, None, None), Publish("t", b"x", 0, False, False, 0))
    harness.commit()
    assert connack_of(client) == Connack(False, 0x87)
    assert payloads(watch.take()) == []


DEEP = "/".join("a" * 5_000)


def test_a_will_with_too_many_topic_levels_is_refused(harness: Harness) -> None:
    client = harness.connect("c", will=Will(DEEP, b"x", 1, True))
    assert client.take() == [Connack(False, 5)]
    assert client.closed
    assert harness.broker.state.wills == {}
    assert harness.broker.statistics.errors == {"max_topic_levels": 1}
