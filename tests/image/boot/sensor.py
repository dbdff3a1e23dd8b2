"""A sensor board at the other end of the guest's USB serial adapter.

The board has its own power supply. It continues to measure while the gateway is off, stores frames
that were not acknowledged, and sends them again.
"""

import asyncio
import contextlib
import os
import socket
import threading
import time
import tty
from pathlib import Path

from firmware_bridge.simulator import FRAMES_IN_FLIGHT_MAX, SimulatedBoard

DEVICE = 42
READINGS_A_FRAME = 3


class Board:
    """A board that measures every `interval_seconds` after `start_measuring`, and is plugged in
    during the context.

    Readings from before the first subscription reach no client, so a test that counts arrivals has
    to subscribe first.
    """

    def __init__(self, cable: Path, interval_seconds: float) -> None:
        self._cable = cable
        self._interval_seconds = interval_seconds
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        self._begun = threading.Event()
        self._ended = threading.Event()
        self._quiet = threading.Event()
        self.board = SimulatedBoard(
            self._master, DEVICE, boot=1, in_flight_max=FRAMES_IN_FLIGHT_MAX
        )
        self._threads = [
            threading.Thread(target=self._measure), threading.Thread(target=self._connect)
        ]  # fmt: skip

    def __enter__(self) -> "Board":
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._begun.set()
        for thread in self._threads:
            thread.join(30)
        os.close(self._master)
        os.close(self._slave)

    def start_measuring(self) -> None:
        """Begin to measure, if the board does not measure already."""
        self._begun.set()

    def stop_measuring(self) -> None:
        """Stop measuring. Stored frames are still sent."""
        self._quiet.set()

    @property
    def acknowledged(self) -> int:
        """The number of frames that the gateway has acknowledged."""
        return self.board.acknowledged

    @property
    def acknowledged_up_to(self) -> int:
        """The sequence number up to which the gateway has acknowledged every frame."""
        kept = self.board._kept
        return (kept[0].sequence if kept else self.board._sequence + 1) - 1

    @property
    def given_up(self) -> int:
        """The number of frames for which the board's memory had no room."""
        return self.board.given_up

    def wait_until_all_is_acknowledged(self, seconds: float) -> None:
        """Wait until the board stores no unacknowledged frame. Call `stop_measuring` before."""
        until = time.monotonic() + seconds
        while self.board.waiting:
            assert time.monotonic() < until, f"{self.board.waiting} frames are not acknowledged"
            time.sleep(0.2)

    def _measure(self) -> None:
        self._begun.wait()
        asyncio.run(self._run())

    async def _run(self) -> None:
        stop = asyncio.Event()
        running = asyncio.create_task(self.board.run(stop, self._interval_seconds))
        while not self._ended.is_set():
            if self._quiet.is_set():
                # The board has no switch to stop measuring, so its method is replaced.
                self.board.measure = lambda: None  # type: ignore[method-assign]
            await asyncio.sleep(0.1)
        stop.set()
        await running

    def _connect(self) -> None:
        """Connect QEMU's socket, whenever it exists, with the board's line."""
        while not self._ended.is_set():
            with socket.socket(socket.AF_UNIX) as cable:
                try:
                    cable.connect(str(self._cable))
                except OSError:
                    self._ended.wait(0.2)
                    continue
                cable.settimeout(0.05)
                # The board sends again what a full line loses.
                with contextlib.suppress(OSError):
                    self._join(cable)

    def _join(self, cable: socket.socket) -> None:
        os.set_blocking(self._slave, False)
        while not self._ended.is_set():
            with contextlib.suppress(BlockingIOError):
                if data := os.read(self._slave, 4096):
                    cable.sendall(data)
            with contextlib.suppress(TimeoutError):
                data = cable.recv(4096)
                if not data:
                    return
                os.write(self._slave, data)
