"""Modbus devices simulated by pymodbus's server on a pseudo-terminal, and a line to them that a
test can disturb."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Collection
from pathlib import Path
from typing import Any

from pymodbus.datastore import (
    ModbusDeviceContext,
    ModbusSequentialDataBlock,
    ModbusServerContext,
)
from pymodbus.server import ModbusSerialServer

from tests.bridge.terminal import Terminal

Disturbance = Callable[[bytes], bytes]
"""A function that returns the bytes that arrive in place of a response."""


class DisturbedLine:
    """Forwards bytes between the bridge's end and the devices' end of a line.

    `disturb` changes the responses. `overheard` is called with all bytes on the line.
    """

    def __init__(self, bridge: Terminal, devices: Terminal, addresses: Collection[int]) -> None:
        self._bridge = bridge
        self._devices = devices
        self._addresses = addresses
        self.disturb: Disturbance = bytes
        self.requests: list[bytes] = []
        self.overheard: Callable[[bytes], None] = lambda _: None

    async def carry(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._carry_requests())
            tasks.create_task(self._carry_answers())

    async def _carry_requests(self) -> None:
        while True:
            request = await self._bridge.read()
            self.requests.append(request)
            self.overheard(request)
            # pymodbus's server also responds for an address without a device, which a real line
            # does not.
            if request[0] in self._addresses:
                await self._devices.write(request)

    async def _carry_answers(self) -> None:
        while True:
            answer = await self._devices.read()
            answer = self.disturb(answer)
            self.overheard(answer)
            await self._bridge.write(answer)


def block_of(values: list[Any]) -> ModbusSequentialDataBlock:
    """Return a register table that begins at register 0, which pymodbus counts as 1."""
    make: Any = ModbusSequentialDataBlock
    return make(1, values)  # type: ignore[no-any-return]


@contextlib.asynccontextmanager
async def devices_behind(
    terminal: Terminal, directory: Path, registers: dict[int, list[int]]
) -> AsyncIterator[DisturbedLine]:
    """Run Modbus devices behind a terminal.

    `registers` maps a device's address to its register values from register 0. Each device has them
    as holding registers, as input registers and as coils.
    """
    theirs = Terminal(directory / "devices")
    contexts: dict[int, Any] = {
        address: ModbusDeviceContext(
            hr=block_of(values),
            ir=block_of(values),
            co=block_of([bool(value) for value in values]),
        )
        for address, values in registers.items()
    }
    server = ModbusSerialServer(
        ModbusServerContext(devices=contexts, single=False),
        port=str(theirs.link),
        ignore_missing_devices=True,
    )
    await server.serve_forever(background=True)
    line = DisturbedLine(terminal, theirs, registers)
    carrying = asyncio.create_task(line.carry())
    try:
        yield line
    finally:
        carrying.cancel()
        await asyncio.gather(carrying, return_exceptions=True)
        stop: Any = server.shutdown
        await stop()
        theirs.unplug()
