"""Packets that each state of a connection accepts."""

import pytest

from gateway.broker.wire.packets import (
    Connect,
    Disconnect,
    Pingreq,
    Pingresp,
    Publish,
)
from tests.broker.core.harness import Harness
from tests.broker.core.mqtt5 import (
    connect,
    end_of,
)


@pytest.mark.statement("MQTT5-3.1.0-2", "MQTT5-4.13.1-1", "MQTT5-3.14.4-1")
def test_a_second_connect_ends_the_connection(harness: Harness) -> None:
    client = connect(harness, "c")
    client.take()
    # The decoder refuses the packet in every state.
    client.send(Connect(5, "c", False, 0, None, None, None))
    harness.commit()
    assert end_of(client) == 0x82


@pytest.mark.statement("MQTT5-3.12.4-1")
def test_a_ping_is_answered(harness: Harness) -> None:
    client = connect(harness, "c")
    client.take()
    client.send(Pingreq())
    harness.flush()
    assert client.take() == [Pingresp()]


@pytest.mark.statement("MQTT5-3.1.4-1", "MQTT5-3.1.0-1")
def test_a_packet_before_connect_closes_the_connection_without_a_word(harness: Harness) -> None:
    for packet in (Pingreq(), Publish("t", b"x", 0, False, False, 0), Disconnect(0)):
        client = harness.open_connection(5)
        client.send(packet)
        harness.commit()
        assert client.closed
        assert client.take() == []
