"""The end of a connection over WebSocket: close frames, their codes, and timeouts."""

from random import Random

import pytest

from tests.broker.server.conftest import Start
from tests.peers.mqtt_bytes import (
    DISCONNECT,
    PINGREQ,
    Will,
    connect,
    publish,
    subscribe,
)
from tests.peers.websocket_client import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    WebSocketClient,
    close_code_of,
    frame_of,
)

WEBSOCKET = {"protocol": "websocket"}
PLAIN = {"protocol": "mqtt"}
PINGRESP = b"\xd0\x00"


async def closed_with(client: WebSocketClient) -> int:
    """Assert that a close frame and then the end follow; return the close code."""
    opcode, payload = await client.frame()
    assert opcode == CLOSE
    client.send(frame_of(CLOSE, payload[:2]))
    assert await client.rest() == b""
    return close_code_of(payload)


@pytest.mark.statement("MQTT-6.0.0-1", "MQTT5-6.0.0-1")
async def test_a_text_frame_ends_the_connection_with_1003_and_the_will_goes_out(
    start: Start,
) -> None:
    broker = await start(WEBSOCKET, PLAIN)
    watcher = await broker.open(1)
    assert await watcher.log_in("watcher") == 0
    watcher.send(subscribe(1, ("will", 0)))
    await watcher.packet()
    client = await broker.open()
    assert (await client.shake_hands()).status == 101
    client.send(frame_of(BINARY, connect("a", will=Will("will", b"gone"))))
    await client.packet_in_frames()
    client.send(frame_of(TEXT, b"hello"))
    assert await closed_with(client) == 1003
    assert await watcher.packet() == publish("will", b"gone")
    assert broker.errors == {"websocket_text": 1}


@pytest.mark.parametrize(
    ("bytes_sent", "code"),
    [
        (frame_of(BINARY, PINGREQ, masked=False), 1002),
        (frame_of(BINARY | 0x40, PINGREQ), 1002),
        (frame_of(0x3, PINGREQ), 1002),
        (frame_of(CONTINUATION, PINGREQ), 1002),
        (frame_of(PING, b"x", final=False), 1002),
        (frame_of(PING, b"x" * 126), 1002),
        (frame_of(CLOSE, b"\x03"), 1002),
        (frame_of(BINARY, announced=(1 << 21) + 1), 1009),
        (frame_of(BINARY, announced=(1 << 63) - 1), 1009),
        (frame_of(BINARY, announced=1 << 63), 1002),
        (frame_of(TEXT, b"\xff"), 1007),
    ],
    ids=lambda value: value[:6].hex() if isinstance(value, bytes) else str(value),
)
async def test_a_frame_that_must_not_be_ends_the_connection_with_its_code(
    start: Start, bytes_sent: bytes, code: int
) -> None:
    broker = await start(WEBSOCKET, PLAIN)
    client = await broker.open()
    assert await client.connect_in_frames("a") == 0
    client.send(bytes_sent)
    assert await closed_with(client) == code
    assert broker.errors == {"websocket_frame": 1}


async def test_a_malformed_packet_ends_the_connection_with_a_close_frame(start: Start) -> None:
    broker = await start(WEBSOCKET, PLAIN)
    client = await broker.open()
    assert await client.connect_in_frames("a") == 0
    client.send(frame_of(BINARY, b"\x00\x00"))
    assert await closed_with(client) == 1000


async def test_a_disconnect_is_answered_with_a_close_frame_and_the_end_awaits_the_clients(
    start: Start,
) -> None:
    broker = await start(WEBSOCKET, PLAIN)
    client = await broker.open()
    assert await client.connect_in_frames("a") == 0
    client.send(frame_of(BINARY, DISCONNECT))
    opcode, payload = await client.frame()
    assert (opcode, close_code_of(payload)) == (CLOSE, 1000)
    client.send(frame_of(BINARY, publish("t", b"too late")) + frame_of(CLOSE, payload))
    assert await client.rest() == b""
    assert broker.running.event_loop.broker.statistics.received_qos0 == 0


async def test_a_close_frame_of_the_client_is_answered_and_is_no_disconnect(start: Start) -> None:
    broker = await start(WEBSOCKET, PLAIN)
    watcher = await broker.open(1)
    assert await watcher.log_in("watcher") == 0
    watcher.send(subscribe(1, ("will", 0)))
    await watcher.packet()
    client = await broker.open()
    assert (await client.shake_hands()).status == 101
    client.send(frame_of(BINARY, connect("a", will=Will("will", b"gone"))))
    await client.packet_in_frames()
    client.send(frame_of(CLOSE, (1001).to_bytes(2, "big")))
    assert await closed_with(client) == 1001
    assert await watcher.packet() == publish("will", b"gone")


@pytest.mark.parametrize("sent", [b"", b"GET /mqtt HTTP/1.1\r\nHost: x\r\n"])
async def test_half_a_handshake_does_not_outlive_the_connect_timeout(
    start: Start, sent: bytes
) -> None:
    broker = await start(WEBSOCKET, PLAIN, connect_timeout="100ms")
    client = await broker.open()
    client.send(sent)
    assert await client.rest() == b""
    assert broker.errors == {"connect_timeout": 1}


async def test_a_whole_handshake_without_a_connect_is_closed_too(start: Start) -> None:
    broker = await start(WEBSOCKET, PLAIN, connect_timeout="100ms")
    client = await broker.open()
    assert (await client.shake_hands()).status == 101
    assert await closed_with(client) == 1000


async def test_no_frames_at_all_make_the_broker_stumble(start: Start) -> None:
    broker = await start(WEBSOCKET, PLAIN)
    random = Random(6)  # noqa: S311 - the same frames in every run
    for number in range(150):
        client = await broker.open()
        assert await client.connect_in_frames(f"c{number}") == 0
        frames = [
            frame_of(
                random.choice((CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG, 0x3, 0xF, 0x42)),
                random.choice((PINGREQ, b"", random.randbytes(3), random.randbytes(130))),
                final=random.random() < 0.7,
                masked=random.random() < 0.95,
                announced=random.choice((None, None, None, None, 0, 5, 1 << 40)),
            )
            for _ in range(random.randint(1, 6))
        ]
        client.send(b"".join(frames))
        client.finish()
        await client.rest()
    assert broker.errors["websocket_frame"] > 50
    assert await (await broker.open(1)).log_in("still here") == 0
