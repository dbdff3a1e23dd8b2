"""Paths and subprotocols of WebSocket that older clients, and clients of other brokers, use."""

import pytest

from tests.broker.server.conftest import Start
from tests.peers.mqtt_bytes import connect
from tests.peers.websocket_client import BINARY, frame_of

WEBSOCKET = {"protocol": "websocket"}
PLAIN = {"protocol": "mqtt"}


async def test_a_client_of_3_1_is_let_in_with_its_subprotocol(start: Start) -> None:
    broker = await start(WEBSOCKET, PLAIN)
    client = await broker.open()
    response = await client.shake_hands(Sec_WebSocket_Protocol="mqttv3.1")
    assert response.status == 101
    assert "\r\nsec-websocket-protocol: mqttv3.1\r\n" in response.head
    client.send(frame_of(BINARY, connect("c", level=3)))
    assert (await client.frame())[1] == b"\x20\x02\x00\x00"


@pytest.mark.parametrize("path", ["/mqtt", "/ws", "/", "/ws?token=x"])
async def test_the_usual_paths_are_accepted(start: Start, path: str) -> None:
    broker = await start(WEBSOCKET, PLAIN)
    assert (await (await broker.open()).shake_hands(path=path)).status == 101


async def test_a_listener_with_a_path_accepts_that_path_alone(start: Start) -> None:
    broker = await start(WEBSOCKET | {"websocket_path": "/plant/mqtt"}, PLAIN)
    assert broker.listeners[0]["path"] == "/plant/mqtt"
    assert (await (await broker.open()).shake_hands(path="/plant/mqtt")).status == 101
    refused = await (await broker.open()).shake_hands(path="/mqtt")
    assert (refused.status, refused.body) == (404, "MQTT over WebSocket is at /plant/mqtt.\n")
