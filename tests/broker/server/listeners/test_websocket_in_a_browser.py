"""MQTT over WebSocket as a real browser speaks it, from pages of two hosts."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.api.chromium import Tab, open_tab
from tests.broker.server.conftest import Start

# Connects, sends CONNECT, answers CONNACK with the packet in `%s`, and returns what happened.
SCRIPT = """new Promise(done => {
  const seen = [];
  const socket = new WebSocket("ws://127.0.0.1:%d/mqtt", ["mqtt"]);
  socket.binaryType = "arraybuffer";
  socket.onopen = () => {
    seen.push(socket.protocol);
    socket.send(Uint8Array.from([0x10, 13, 0, 4, 77, 81, 84, 84, 4, 2, 0, 0, 0, 1, 97]));
  };
  socket.onmessage = message => {
    seen.push(Array.from(new Uint8Array(message.data)).join(" "));
    socket.send(%s);
  };
  socket.onclose = event => {
    seen.push(event.code, event.wasClean);
    done(seen);
  };
})"""
DISCONNECT = "Uint8Array.from([0xe0, 0])"


@pytest.fixture
async def tab(tmp_path: Path) -> AsyncIterator[Tab]:
    async with open_tab(tmp_path / "profile") as tab:
        yield tab


@pytest.fixture
async def page_port() -> AsyncIterator[int]:
    """Yield the port of an HTTP server with an empty page; pages in /sandbox have no origin."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # A browser also opens connections on which it sends no request.
        request = await reader.readline()
        while await reader.readline() not in (b"\r\n", b""):
            pass
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n")
        if request.startswith(b"GET /sandbox "):
            writer.write(b"Content-Security-Policy: sandbox allow-scripts\r\n")
        writer.write(b"\r\n")
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    yield server.sockets[0].getsockname()[1]
    server.close()


async def test_a_page_of_this_host_speaks_mqtt_and_sees_a_clean_end(
    start: Start, tab: Tab, page_port: int
) -> None:
    broker = await start({"protocol": "websocket"}, {})
    port = broker.listeners[0]["port"]
    await tab.go(f"http://127.0.0.1:{page_port}/")
    assert await tab.evaluate(SCRIPT % (port, DISCONNECT)) == ["mqtt", "32 2 0 0", 1000, True]
    assert await tab.evaluate(SCRIPT % (port, "'text'")) == ["mqtt", "32 2 0 0", 1003, True]
    assert broker.errors == {"websocket_text": 1}


async def test_a_page_that_states_no_host_is_not_let_in(
    start: Start, tab: Tab, page_port: int
) -> None:
    broker = await start({"protocol": "websocket"}, {})
    await tab.go(f"http://127.0.0.1:{page_port}/sandbox")
    assert await tab.evaluate(SCRIPT % (broker.listeners[0]["port"], DISCONNECT)) == [1006, False]
    assert broker.errors == {"websocket_origin": 1}
