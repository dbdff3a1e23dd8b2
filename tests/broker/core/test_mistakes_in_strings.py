"""Strings that are not valid UTF-8, in every place where a client can send a string."""

import pytest

from gateway.broker.wire import kinds
from gateway.broker.wire.packets import Connack, Disconnect, Publish
from tests.broker.core.harness import Client, Harness, payloads
from tests.broker.core.mqtt5 import subscriber
from tests.broker.wire.marked_strings import STRINGS, WRONG, Marked


def is_connect(marked: Marked) -> bool:
    return marked.before[0] == kinds.CONNECT << 4


def sent(harness: Harness, marked: Marked, four_bytes: bytes) -> Client:
    """Return a client that sent a wrong string, and a PUBLISH before and after it."""
    if is_connect(marked):
        client = harness.open_connection(marked.version)
    else:
        client = harness.connect("c", clean=True, version=marked.version)
        client.take()
        client.send(Publish("t", b"before", 0, False, False, 0))
    client.send_bytes(marked.with_string(four_bytes))
    client.send(Publish("t", b"behind", 0, False, False, 0))
    harness.commit()
    return client


@pytest.mark.statement(
    "MQTT-1.5.3-1", "MQTT-1.5.3-2", "MQTT-4.8.0-1", "MQTT5-1.5.4-1", "MQTT5-1.5.4-2"
)
@pytest.mark.parametrize("mistake", WRONG)
def test_a_mistake_in_any_string_ends_its_connection_and_no_other(
    harness: Harness, mistake: str
) -> None:
    watch = subscriber(harness, "watch", "#", 0)
    for marked in STRINGS:
        if marked.sender != "client":
            continue
        client = sent(harness, marked, WRONG[mistake])
        assert client.closed, marked.name
        received = client.take()
        if marked.version == 5:
            (end,) = received
            assert isinstance(end, Connack if is_connect(marked) else Disconnect), marked.name
            assert end.reason_code == 0x81, marked.name
        else:
            assert received == [], marked.name
        expected = [] if is_connect(marked) else [b"before"]
        assert payloads(watch.take()) == expected, marked.name
    assert not watch.closed
    assert set(harness.broker.statistics.errors) == {"string_encoding"}
    assert list(harness.broker.state.sessions) == ["watch"]
    assert not harness.broker.state.wills
