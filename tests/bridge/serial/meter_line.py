"""A serial line with meters that are polled, and a bridge that polls them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

from firmware_bridge.serial.settings import PortSettings

from tests.bridge.broker import DEADLINE_SECONDS
from tests.bridge.meters import Meter, Meters, answer_of
from tests.bridge.running import ControlRoom, running_bridge, settings_of
from tests.bridge.terminal import Terminal

NORTH, SOUTH = Meter(address=1, name="north"), Meter(address=2, name="south")
# Far longer than any response takes in these tests, also on a busy machine.
PATIENT = 30.0
SHORT = 0.05


class MeterLine:
    """The meters' end of a serial line."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._part = b""

    async def request(self) -> int:
        """Return the address in the next request."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            while b"\n" not in self._part:
                self._part += await self._terminal.read()
        line, _, self._part = self._part.partition(b"\n")
        assert line.startswith(b"?")
        return int(line[1:])

    def send(self, data: bytes) -> None:
        self._terminal.send(data)

    async def answer(self, value: int) -> int:
        """Answer the next request with this value, and return the address in the request."""
        address = await self.request()
        self.send(answer_of(address, value))
        return address


def meters(*asked: Meter, **keys: Any) -> Meters:
    return Meters(meters=asked, **{"poll_interval": 0.01, "answer_timeout": PATIENT, **keys})


def port_with(terminal: Terminal, settings: Meters) -> PortSettings:
    return PortSettings("meters", str(terminal.link), None, "meters", settings)


@contextlib.asynccontextmanager
async def asked_line(
    terminal: Terminal, broker_port: int, settings: Meters
) -> AsyncIterator[tuple[MeterLine, ControlRoom]]:
    """Run a bridge whose only port has `settings`. Yield the meters' end of its line."""
    directory = terminal.link.parent / "data"
    bridge = settings_of(directory, broker_port, port_with(terminal, settings))
    async with running_bridge(bridge) as room:
        await room.wait_for_port("meters", "open")
        yield MeterLine(terminal), room


async def counted(room: ControlRoom, kind: str, reason: str, count: int = 1) -> None:
    await room.wait_until(lambda room: room.port("meters")[kind].get(reason, 0) >= count)
