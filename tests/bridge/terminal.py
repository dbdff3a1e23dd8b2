"""A pseudo-terminal that plays the sensor's end of a serial cable."""

import asyncio
import contextlib
import os
import termios
import tty
from pathlib import Path
from typing import Any


class Terminal:
    """The sensor's end of a pseudo-terminal.

    `link` points to the bridge's end. `unplug` removes the terminal as if a USB plug were pulled.
    """

    def __init__(self, link: Path) -> None:
        self.link = link
        self._master = -1
        self._slave = -1
        self.plug_in()

    def plug_in(self) -> None:
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        self.link.unlink(missing_ok=True)
        self.link.symlink_to(os.ttyname(self._slave))

    def unplug(self) -> None:
        self.link.unlink(missing_ok=True)
        if self._master >= 0:
            os.close(self._master)
            os.close(self._slave)
            self._master = -1

    def attributes(self) -> list[Any]:
        """Return the termios attributes of the bridge's end."""
        return termios.tcgetattr(self._slave)

    async def write(self, data: bytes) -> None:
        """Write all of the data, as fast as the other end reads it."""
        loop = asyncio.get_running_loop()
        while data:
            try:
                data = data[os.write(self._master, data) :]
            except BlockingIOError:
                await _ready(loop, self._master, writing=True)

    def send(self, data: bytes) -> None:
        """Write data, and discard what the other end cannot accept now, as on a line that is not
        read."""
        with contextlib.suppress(BlockingIOError):
            os.write(self._master, data)

    def discard(self) -> None:
        """Discard the bytes that the bridge has written and this end has not yet read."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._master, 65536):
                pass

    async def read(self) -> bytes:
        loop = asyncio.get_running_loop()
        while True:
            try:
                return os.read(self._master, 65536)
            except BlockingIOError:
                await _ready(loop, self._master, writing=False)


async def _ready(loop: asyncio.AbstractEventLoop, descriptor: int, *, writing: bool) -> None:
    ready = loop.create_future()

    def finish() -> None:
        if not ready.done():
            ready.set_result(None)

    add, remove = loop.add_reader, loop.remove_reader
    if writing:
        add, remove = loop.add_writer, loop.remove_writer
    add(descriptor, finish)
    try:
        await ready
    finally:
        remove(descriptor)
