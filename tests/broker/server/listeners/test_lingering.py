"""A client that is still sending reads why the broker closed, but cannot stay for long."""

import asyncio
import socket

import pytest

from gateway.broker.server.listeners import stream
from gateway.broker.server.listeners.lingering import LINGER_BYTES_MAX
from tests.broker.server.broker import Broker
from tests.broker.server.conftest import Start
from tests.peers.mqtt_bytes import Kind, connect, packet, publish, string

WRONG = b"\x00\x00"
CONNACK_BYTES, DISCONNECT = 2, b"\xe0"
BUSY_BYTES = 400_000
PUBLICATION = publish("topic", b"\0" + bytes(100_000))
LATE_SECONDS = 0.3
SUBSCRIBE = packet(Kind.SUBSCRIBE, 2, b"\0\x01\0" + string("topic") + b"\0")


async def answer_of(broker: Broker, *parts: bytes) -> bytes:
    """Send all parts and further bytes before reading; return all bytes that the broker sent."""
    shown = broker.listeners[0]
    with socket.create_connection((shown["bind"], shown["port"])) as client:
        client.setblocking(False)
        loop = asyncio.get_running_loop()
        for part in parts:
            await loop.sock_sendall(client, part)
        await broker.eventually(lambda: bool(broker.errors))
        await loop.sock_sendall(client, bytes(BUSY_BYTES))
        answer = b""
        while part := await loop.sock_recv(client, 65_536):
            answer += part
        return answer


async def test_a_client_that_is_sending_reads_the_reason(start: Start) -> None:
    broker = await start({"protocol": "mqtt"})
    answer = await answer_of(broker, connect("c", level=5), WRONG)
    assert DISCONNECT in answer


async def test_a_refused_client_that_is_sending_reads_its_connack(start: Start) -> None:
    broker = await start({"protocol": "mqtt"})
    answer = await answer_of(broker, connect(b"\x01", level=5))
    assert answer[:1] == b"\x20"
    assert answer[3] == 0x85


async def test_a_client_that_sends_without_end_is_cut(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "LINGER_SECONDS", 600.0)
    broker = await start({"protocol": "mqtt"})
    client = await broker.open()
    assert await client.log_in("c") == 0
    client.send(WRONG)
    client.send(bytes(2 * LINGER_BYTES_MAX))
    await broker.eventually(lambda: not broker.running.event_loop.channels)


async def test_a_client_that_does_not_close_its_side_is_cut(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "LINGER_SECONDS", 0.05)
    broker = await start({"protocol": "mqtt"})
    client = await broker.open()
    assert await client.log_in("c") == 0
    client.send(WRONG)
    await broker.eventually(lambda: not broker.running.event_loop.channels)


async def test_a_client_that_reads_late_still_reads_that_the_broker_stops(start: Start) -> None:
    broker = await start({"protocol": "mqtt"})
    shown = broker.listeners[0]
    loop = asyncio.get_running_loop()
    with socket.create_connection((shown["bind"], shown["port"])) as client:
        client.setblocking(False)
        await loop.sock_sendall(client, connect("c", level=5) + SUBSCRIBE)
        await broker.eventually(lambda: bool(broker.running.event_loop.channels))
        (channel,) = broker.running.event_loop.channels.values()
        assert isinstance(channel, stream.MqttProtocol)
        statistics = broker.running.event_loop.broker.statistics
        sent = 0

        def is_delivered() -> bool:
            return statistics.sent_qos0 == sent

        while not channel.transport.get_write_buffer_size():
            sent += 1
            await loop.sock_sendall(client, PUBLICATION)
            await broker.eventually(is_delivered)
        stopping = loop.create_task(broker.running.stop())
        await asyncio.wait({stopping}, timeout=LATE_SECONDS)
        answer = b""
        while part := await loop.sock_recv(client, 65_536):
            answer += part
    await stopping
    assert answer.endswith(b"\xe0\x01\x8b")
