"""Modbus TCP against pymodbus's server and against servers that break the rules; RTU over TCP."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from firmware_bridge.protocols.modbus_device import Device
from firmware_bridge.protocols.modbus_register import Register
from firmware_bridge.serial import network
from firmware_bridge.serial.settings import PortSettings
from pymodbus import FramerType
from pymodbus.datastore import ModbusDeviceContext, ModbusServerContext
from pymodbus.server import ModbusTcpServer

from gateway.process.mqtt_client import backoff
from tests.bridge.broker import Subscriber
from tests.bridge.modbus_devices import block_of
from tests.bridge.running import ControlRoom, port_of, running_bridge, settings_of
from tests.system.broker_process import free_port

PUMP = Device(
    name="pump", address=255,
    registers=(
        Register(name="speed", at=0),
        Register(name="energy", at=2, type="u32"),
        Register(name="level", at=1, kind="input"),
        Register(name="running", at=0, kind="coil"),
    ),
)  # fmt: skip
TANK = Device(name="tank", address=1, registers=(Register(name="level", at=0),))
# A response that takes longer than this is late.
TIMEOUT = 0.3


@contextlib.asynccontextmanager
async def pymodbus_server(port: int, framer: FramerType) -> AsyncIterator[None]:
    def device(values: list[int]) -> Any:
        bits = [bool(each) for each in values]
        make: Any = ModbusDeviceContext
        return make(hr=block_of(values), ir=block_of(values), co=block_of(bits))

    context: Any = ModbusServerContext(
        devices={255: device([1480, 7, 1, 1]), 1: device([42, 0])}, single=False
    )
    server = ModbusTcpServer(context, framer=framer, address=("127.0.0.1", port))
    await server.serve_forever(background=True)
    try:
        yield
    finally:
        stop: Any = server.shutdown
        await stop()


def port_at(scheme: str, port: int, *devices: Device, **keys: Any) -> PortSettings:
    usual = {"poll_interval": 0.05, "answer_timeout": TIMEOUT, **keys}
    address = f"{scheme}://127.0.0.1:{port}"
    return port_of("plant", Path("unused"), "modbus", address=address, devices=devices, **usual)


@pytest.mark.parametrize(
    ("scheme", "framer"), [("modbus+tcp", FramerType.SOCKET), ("rtu+tcp", FramerType.RTU)]
)
async def test_units_of_pymodbus_s_server_are_read_and_again_after_it_was_away(
    scheme: str,
    framer: FramerType,
    subscriber: Subscriber,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backoff, "FIRST_SECONDS", 0.01)
    number = free_port()
    port = port_at(scheme, number, PUMP, TANK, answer_timeout=30.0)
    async with running_bridge(settings_of(tmp_path / "data", subscriber.port, port)) as room:
        for count in (10, 30):
            async with pymodbus_server(number, framer):
                await room.wait_for_port("plant", "open")
                await subscriber.arrival_of(count)
            await room.wait_for_port("plant", "lost")
        assert room.port("plant")["damaged"] == {}
        assert room.port("plant")["refused"] == {}
    found = {record["n"]: record.get("v", record.get("vb")) for record in subscriber.records()}
    assert found == {
        "pump/speed": 1480,
        "pump/energy": 65537,
        "pump/level": 7,
        "pump/running": True,
        "tank/level": 42,
    }


async def test_a_register_that_pymodbus_s_server_refuses_costs_no_other(
    subscriber: Subscriber, tmp_path: Path
) -> None:
    beyond = (Register(name="level", at=0), *(Register(name=f"r{at}", at=at) for at in range(1, 9)))
    port = port_at(
        "modbus+tcp", number := free_port(), Device(name="tank", address=1, registers=beyond)
    )
    async with (
        pymodbus_server(number, FramerType.SOCKET),
        running_bridge(settings_of(tmp_path / "data", subscriber.port, port)) as room,
    ):
        await subscriber.arrival_of(6)
        await room.wait_until(lambda room: bool(room.port("plant")["devices"][0]["unread"]))
        shown = room.port("plant")
    assert {record["n"] for record in subscriber.records()} == {"tank/level", "tank/r1"}
    assert shown["damaged"] == {}
    assert shown["refused"]["exception_2"] >= 7
    assert [each["name"] for each in shown["devices"][0]["unread"]] == [
        f"r{n}" for n in range(2, 9)
    ]


Reply = Callable[[bytes, int], bytes]
"""A function that returns the reply of a test server to the n-th request on a connection."""


def answer_to(request: bytes, value: int, *, unit: int | None = None) -> bytes:
    unit = request[6] if unit is None else unit
    return request[:4] + b"\x00\x05" + bytes((unit, 3, 2)) + value.to_bytes(2)


@contextlib.asynccontextmanager
async def server(port: int, reply: Reply) -> AsyncIterator[list[int]]:
    """Run a test server. Yields the number of requests on each of its connections."""
    counts: list[int] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = len(counts)
        counts.append(0)
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                request = await reader.readexactly(12)
                counts[connection] += 1
                writer.write(reply(request, counts[connection]))
                await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", port):
        yield counts


async def read_from(
    reply: Reply,
    subscriber: Subscriber,
    directory: Path,
    until: Callable[[ControlRoom], Awaitable[None]],
) -> tuple[list[int], dict[str, Any]]:
    port = port_at("modbus+tcp", number := free_port(), TANK)
    async with (
        server(number, reply) as counts,
        running_bridge(settings_of(directory / "data", subscriber.port, port)) as room,
    ):
        await until(room)
        return counts, room.port("plant")


async def test_a_late_answer_has_another_transaction_and_is_passed_over(
    subscriber: Subscriber, tmp_path: Path
) -> None:
    late: list[bytes] = []

    def reply(request: bytes, number: int) -> bytes:
        answer = answer_to(request, number)
        if number % 2:
            late.append(answer)
            return b""
        # The late response and two copies of the right one, in one segment.
        return late.pop() + answer + answer

    async def until(_: ControlRoom) -> None:
        await subscriber.arrival_of(4)

    counts, shown = await read_from(reply, subscriber, tmp_path, until)
    assert len(counts) == 1
    assert [record["v"] for record in subscriber.records()][:4] == [2, 4, 6, 8]
    assert set(shown["damaged"]) == {"no_answer"}


@pytest.mark.parametrize(
    ("sent", "sentence"),
    [
        (lambda request: b"HTTP/1.1 400 Bad Request\r\n\r\n", "this is not Modbus TCP"),
        (lambda request: request[:4] + b"\xff\xff" + bytes(4000), "this is not Modbus TCP"),
        (lambda request: request[:4] + b"\x00\x01\x01", "this is not Modbus TCP"),
        (lambda request: bytes.fromhex("0103020064B9AF"), "needs rtu+tcp://"),
    ],
    ids=["http", "oversized", "too short", "rtu"],
)
async def test_a_server_that_sends_no_modbus_tcp_is_left_with_a_sentence_and_tried_again(  # noqa: PLR0917 - fixtures
    sent: Callable[[bytes], bytes],
    sentence: str,
    subscriber: Subscriber,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(backoff, "FIRST_SECONDS", 0.01)
    connections = 0

    def reply(request: bytes, number: int) -> bytes:
        nonlocal connections
        connections += number == 1
        return sent(request) if connections < 3 else answer_to(request, 42)

    async def until(_: ControlRoom) -> None:
        await subscriber.arrival_of(2)

    counts, shown = await read_from(reply, subscriber, tmp_path, until)
    assert len(counts) == 3
    assert shown["reopened"] == 2
    assert {record["v"] for record in subscriber.records()} == {42}
    assert any(sentence in each.getMessage() for each in caplog.records)


async def test_an_answer_of_another_unit_is_damage_and_no_reading(
    subscriber: Subscriber, tmp_path: Path
) -> None:
    def reply(request: bytes, number: int) -> bytes:
        return answer_to(request, number, unit=9 if number < 3 else None)

    async def until(_: ControlRoom) -> None:
        await subscriber.arrival_of(1)

    _, shown = await read_from(reply, subscriber, tmp_path, until)
    assert subscriber.records()[0]["v"] == 3
    assert shown["damaged"] == {"address": 2}


async def test_a_server_that_floods_is_asked_on_and_keeps_no_memory(
    subscriber: Subscriber, tmp_path: Path
) -> None:
    def reply(request: bytes, number: int) -> bytes:
        stale = b"\xff\xff" + answer_to(request, 666)[2:]
        return answer_to(request, number) if number % 3 == 0 else stale * 20_000

    async def until(_: ControlRoom) -> None:
        await subscriber.arrival_of(2)

    _, shown = await read_from(reply, subscriber, tmp_path, until)
    assert all(record["v"] % 3 == 0 for record in subscriber.records())
    assert shown["damaged"]["overlong"] >= 4


async def test_a_server_that_stops_within_a_message_is_connected_to_again(
    subscriber: Subscriber, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "MESSAGE_SECONDS_MAX", 0.5)
    monkeypatch.setattr(backoff, "FIRST_SECONDS", 0.01)

    def reply(request: bytes, number: int) -> bytes:
        return answer_to(request, 42)[: 9 if number == 2 else None]

    async def until(room: ControlRoom) -> None:
        await room.wait_until(lambda room: room.port("plant").get("reopened", 0) >= 2)

    counts, shown = await read_from(reply, subscriber, tmp_path, until)
    assert len(counts) >= 3
    assert shown["damaged"].keys() == {"no_answer"}
