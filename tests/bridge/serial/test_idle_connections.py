"""Servers on the network that close connections between two requests."""

import asyncio
import contextlib
import socket
import struct
from pathlib import Path

import pytest
from firmware_bridge.protocols.modbus_device import Device

from tests.bridge.broker import Subscriber
from tests.bridge.running import running_bridge, settings_of
from tests.bridge.serial.test_modbus_tcp import TANK, answer_to, port_at
from tests.system.broker_process import free_port


async def test_a_server_that_closes_idle_connections_is_polled_at_its_interval_and_is_no_fault(
    subscriber: Subscriber, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Devices close idle connections (home-assistant/core issue 101982)."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(TimeoutError, asyncio.IncompleteReadError):
            while True:
                async with asyncio.timeout(0.1):
                    request = await reader.readexactly(12)
                writer.write(answer_to(request, 42))
        writer.close()

    often = Device(name="often", address=1, registers=TANK.registers, poll_interval=0.4)
    rarely = Device(name="rarely", address=2, registers=TANK.registers, poll_interval=86400.0)
    port = port_at("modbus+tcp", number := free_port(), often, rarely)
    async with (
        await asyncio.start_server(serve, "127.0.0.1", number),
        running_bridge(settings_of(tmp_path / "data", subscriber.port, port)) as room,
    ):
        await subscriber.arrival_of(5)
        await room.wait_until(lambda room: room.port("plant")["reopened"] >= 3)
        shown = room.port("plant")
    names = [record["n"] for record in subscriber.records()]
    assert names.count("rarely/level") == 1
    assert (shown["state"], shown["damaged"]) == ("open", {})
    assert not [each for each in caplog.records if "closed" in each.getMessage()]


@pytest.mark.parametrize("resets", [False, True])
async def test_a_server_that_closes_after_each_answer_is_polled_at_its_interval_and_is_no_fault(
    subscriber: Subscriber, tmp_path: Path, caplog: pytest.LogCaptureFixture, *, resets: bool
) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):
            writer.write(answer_to(await reader.readexactly(12), 42))
            await writer.drain()
        if resets:
            connection = writer.get_extra_info("socket")
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()

    devices = [
        Device(name=f"tank-{each}", address=each, registers=TANK.registers, poll_interval=0.2)
        for each in range(1, 5)
    ]
    port = port_at("modbus+tcp", number := free_port(), *devices)
    async with (
        await asyncio.start_server(serve, "127.0.0.1", number),
        running_bridge(settings_of(tmp_path / "data", subscriber.port, port)) as room,
    ):
        await subscriber.arrival_of(40)
        shown = room.port("plant")
    assert (shown["state"], shown["damaged"]) == ("open", {})
    assert not [each for each in caplog.records if "trying again" in each.getMessage()]


async def test_a_server_that_ends_a_connection_and_is_gone_is_lost(
    subscriber: Subscriber, tmp_path: Path
) -> None:
    answered = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer_to(await reader.readexactly(12), 42))
        await writer.drain()
        writer.close()
        answered.set()

    port = port_at("modbus+tcp", number := free_port(), TANK)
    server = await asyncio.start_server(serve, "127.0.0.1", number)
    async with running_bridge(settings_of(tmp_path / "data", subscriber.port, port)) as room:
        async with server:
            await answered.wait()
        await room.wait_for_port("plant", "lost")
