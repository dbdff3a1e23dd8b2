"""A meter of IEC 62056-21 at the end of a serial cable, which reads and writes at one rate."""

import asyncio
import termios
from functools import reduce
from operator import xor

from tests.bridge.broker import DEADLINE_SECONDS
from tests.bridge.terminal import Terminal

SPEEDS = {termios.B300: 300, termios.B2400: 2400, termios.B9600: 9600}
OBJECTS = b"F.F(00)\r\n0.0.0(00123456)\r\n1.8.0(000123.456*kWh)\r\n2.8.0(000001.000*kWh)\r\n"


class D0Meter:
    """A meter that answers each sign-on.

    `heard` has each line that it received, with the rate of the line.
    """

    def __init__(self, terminal: Terminal, objects: bytes = OBJECTS, mode: bytes = b"5") -> None:
        self._terminal = terminal
        self._identification = b"/ISk" + mode + b"MT174\r\n"
        content = objects + b"!\r\n\x03"
        self._telegram = b"\x02" + content + bytes((reduce(xor, content, 0),))
        self._part = b""
        self.heard: list[tuple[int, bytes]] = []

    @property
    def rate(self) -> int:
        return SPEEDS[self._terminal.attributes()[4]]

    async def next_line(self) -> bytes:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while b"\n" not in self._part:
                self._part += await self._terminal.read()
        line, end, self._part = self._part.partition(b"\n")
        self.heard.append((self.rate, line.lstrip(b"\0")))
        return line + end

    async def answer(self) -> None:
        """Answer one sign-on, with the echo of an optical head before each response."""
        request = await self.next_line()
        self._terminal.send(request + self._identification)
        self._terminal.send(await self.next_line() + self._telegram)
