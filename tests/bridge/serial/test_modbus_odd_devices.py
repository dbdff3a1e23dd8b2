"""Four devices on one line with faults that people reported: each fault affects only the device
that has it."""

import asyncio
import contextlib
import struct
from collections.abc import AsyncIterator

from firmware_bridge.protocols.checksums import crc16_modbus
from firmware_bridge.protocols.modbus_device import Device
from firmware_bridge.protocols.modbus_register import Register

from tests.bridge.broker import Subscriber
from tests.bridge.running import ControlRoom, port_on, running_bridge, settings_of
from tests.bridge.terminal import Terminal

NOT_A_NUMBER = bytes.fromhex("FFC00000")
ILLEGAL_ADDRESS = 2
REQUEST_BYTES = 8

FIFTY_AT_MOST = Device(
    name="sdm", address=1,
    registers=tuple(
        Register(name=f"v{each}", at=2 * each, kind="input", type="f32") for each in range(26)
    ),
)  # fmt: skip
WITHOUT_A_NUMBER = Device(
    name="pm", address=2,
    registers=(
        Register(name="current", at=102, type="f32"),
        Register(name="power_factor", at=104, type="f32"),
        Register(name="energy", at=200, type="f32"),
    ),
)  # fmt: skip
WITHOUT_A_REGISTER = Device(
    name="heatpump", address=3,
    registers=(Register(name="fw", at=10, type="i16"), Register(name="flow", at=20, type="i16")),
)  # fmt: skip
WITHOUT_A_VALUE = Device(
    name="sma", address=4,
    registers=(
        Register(name="power", at=0, type="i32", no_value=(0x80000000,)),
        Register(name="status", at=50, type="u16"),
    ),
)  # fmt: skip
DEVICES = (FIFTY_AT_MOST, WITHOUT_A_NUMBER, WITHOUT_A_REGISTER, WITHOUT_A_VALUE)


def answer_to(request: bytes) -> bytes:
    address, function, first, count = struct.unpack(">BBHH", request[:6])
    registers = range(first, first + count)
    refused = (address == FIFTY_AT_MOST.address and count > 50) or (
        address == WITHOUT_A_REGISTER.address and 10 in registers
    )
    if refused:
        return framed(bytes((address, function | 0x80, ILLEGAL_ADDRESS)))
    if address == FIFTY_AT_MOST.address:
        values = struct.pack(">f", 230.0) * (count // 2)
    elif address == WITHOUT_A_NUMBER.address:
        values = b"".join(
            NOT_A_NUMBER if each == 104 else struct.pack(">f", 1.5) for each in registers[::2]
        )
    elif address == WITHOUT_A_VALUE.address and first == 0:
        values = bytes.fromhex("80000000")
    else:
        values = b"".join(struct.pack(">h", 200 + each) for each in registers)
    return framed(bytes((address, function, len(values))) + values)


def framed(message: bytes) -> bytes:
    return message + crc16_modbus(message).to_bytes(2, "little")


@contextlib.asynccontextmanager
async def devices_on(terminal: Terminal) -> AsyncIterator[None]:
    async def answer() -> None:
        pending = b""
        while True:
            pending += await terminal.read()
            while len(pending) >= REQUEST_BYTES:
                request, pending = pending[:REQUEST_BYTES], pending[REQUEST_BYTES:]
                await terminal.write(answer_to(request))

    answering = asyncio.create_task(answer())
    try:
        yield
    finally:
        answering.cancel()
        await asyncio.gather(answering, return_exceptions=True)


def unread_in(room: ControlRoom) -> set[tuple[str, str]]:
    devices = room.port("sensor").get("devices", [])
    return {(each["device"], found["name"]) for each in devices for found in each["unread"]}


async def test_a_small_answer_a_nan_a_missing_register_and_no_value_cost_no_other_quantity(
    subscriber: Subscriber, terminal: Terminal
) -> None:
    port = port_on(terminal, "modbus", devices=DEVICES, poll_interval=0.05, answer_timeout=30.0)
    directory = terminal.link.parent / "data"
    expected = {
        **{f"sdm/v{each}": 230.0 for each in range(26)},
        "pm/current": 1.5,
        "pm/energy": 1.5,
        "heatpump/flow": 220,
        "sma/status": 250,
    }
    settings = settings_of(directory, subscriber.port, port)
    async with devices_on(terminal), running_bridge(settings) as room:
        await subscriber.wait_until(
            lambda: {each["n"] for each in subscriber.records()} >= expected.keys()
        )
        await room.wait_until(lambda room: len(unread_in(room)) == 3)
        shown, unread = room.port("sensor"), unread_in(room)
    found = {each["n"]: each["v"] for each in subscriber.records()}
    assert found == expected, "and neither a NaN nor -2147483648"
    assert unread == {("pm", "power_factor"), ("heatpump", "fw"), ("sma", "power")}
    assert shown["damaged"] == {}, "a sound refusal is an answer"
