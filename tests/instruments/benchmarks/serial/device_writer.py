"""Devices of one protocol in a separate process: `device_writer PLAN`.

A pseudo-terminal has no rate, so this program is the clock: it writes a frame when a real line
would have transmitted its last byte. A device that pushes begins the next frame immediately. A
device that is asked responds after the time of the request and of the response.
"""

import asyncio
import contextlib
import json
import os
import sys
import time
from pathlib import Path
from typing import Any

from tests.instruments.benchmarks.serial.protocols import PROTOCOLS, Protocol, Response


class Line:
    """A device at the end of a serial line, and the time at which it sent each number."""

    def __init__(self, descriptor: int, protocol: Protocol) -> None:
        self._descriptor = descriptor
        self._protocol = protocol
        self._received = b""
        self.sent_ns: list[int] = []

    async def work(self) -> None:
        """Send or respond until it is cancelled."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._descriptor, 4096)  # requests from before the device was switched on
        if self._protocol.push is not None:
            await self._push()
        loop = asyncio.get_running_loop()
        has_bytes = asyncio.Event()
        loop.add_reader(self._descriptor, has_bytes.set)
        while True:
            await has_bytes.wait()
            has_bytes.clear()
            with contextlib.suppress(BlockingIOError):
                self._received += os.read(self._descriptor, 4096)
            assert self._protocol.respond is not None
            response = self._protocol.respond(self._received, len(self.sent_ns))
            if response is not None:
                await self._answer(response)

    async def _push(self) -> None:
        assert self._protocol.push is not None
        due = time.monotonic()
        while True:
            frame = self._protocol.push(len(self.sent_ns))
            due += len(frame) * self._protocol.byte_seconds
            await asyncio.sleep(due - time.monotonic())
            self._write(frame)
            self.sent_ns.append(time.time_ns())

    async def _answer(self, response: Response) -> None:
        byte_seconds = self._protocol.byte_seconds
        if response.baud_rate is not None:
            byte_seconds *= int(self._protocol.line.split()[0]) / response.baud_rate
        await asyncio.sleep((len(self._received) + len(response.data)) * byte_seconds)
        self._received = b""
        self._write(response.data)
        if response.has_number:
            self.sent_ns.append(time.time_ns())

    def _write(self, data: bytes) -> None:
        """Write data. Asserts that the terminal, which holds 12 KiB, accepts all of it."""
        assert os.write(self._descriptor, data) == len(data)


async def run(lines: list[Line], seconds: float) -> None:
    """Run all devices for some seconds."""
    tasks = [asyncio.create_task(line.work()) for line in lines]
    done, working = await asyncio.wait(tasks, timeout=seconds)
    for task in working:
        task.cancel()
    await asyncio.gather(*working, return_exceptions=True)
    for task in done:
        task.result()


def main(plan_file: Path) -> None:
    plan: dict[str, Any] = json.loads(plan_file.read_text())
    lines = [Line(each, PROTOCOLS[plan["protocol"]]) for each in plan["descriptors"]]
    asyncio.run(run(lines, plan["seconds"]))
    Path(plan["result"]).write_text(json.dumps([line.sent_ns for line in lines]))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
