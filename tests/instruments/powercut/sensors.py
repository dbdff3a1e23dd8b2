"""Sensors in the cabinet, which measure and send even while the gateway has no power.

Each frame or line carries a number and a string derived from it, of varying length. So a reader can
check that both are complete.
"""

import asyncio
import hashlib
import json
from collections import deque
from itertools import islice
from typing import Protocol

from firmware_bridge.protocols.board_frame import frame_bytes_of, read_acknowledgement
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.readings.measurement import Measurement
from firmware_bridge.readings.numbering import BoardIdentity

from tests.bridge.terminal import Terminal

NUMBER = "number"
CHECK = "check"
"""The two quantities of every frame and line."""

KEPT_MAX = 32
"""Frames that a board stores until they are acknowledged. Above this the oldest are dropped."""

RESEND_SECONDS = 0.2


def check_of(number: int, *whose: int) -> str:
    """Return the string that belongs to a number, of 1 to 64 characters."""
    return hashlib.sha256(repr((number, whose)).encode()).hexdigest()[: 1 + number % 64]


class Sensor(Protocol):
    """A device on a serial line."""

    name: str
    """The device's name in topics and payloads."""

    async def run(self) -> None:
        """Measure and send until cancelled."""

    def stop_measuring(self) -> None:
        """Stop measuring. Stored frames are still sent."""


class Board:
    """A board with our own frame format. A frame is `accepted` once its acknowledgement has been
    read.

    With a window of 1 its readings stay in order (docs/formats/board-frame.md).
    """

    def __init__(
        self, terminal: Terminal, device: int, *, window: int, interval_seconds: float
    ) -> None:
        self.device = device
        self.name = f"board-{device:08x}"
        self.window = window
        self.sent: set[tuple[int, int]] = set()
        self.accepted: set[tuple[int, int]] = set()
        self._terminal = terminal
        self._interval_seconds = interval_seconds
        self._boot = 1
        self._sequence = 0
        self._kept: deque[int] = deque()
        self._sent_at: dict[int, float] = {}
        self._changed = asyncio.Event()
        self._is_measuring = True
        self._done = asyncio.Event()

    async def wait_until_done(self) -> None:
        """Wait until the board no longer measures, and all its frames were accepted."""
        await self._done.wait()

    def stop_measuring(self) -> None:
        self._is_measuring = False

    def restart(self) -> None:
        """Restart after a power cut: the memory is lost, but the boot counter is kept."""
        self._boot += 1
        self._sequence = 0
        self._kept.clear()
        self._sent_at.clear()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._send())
            tasks.create_task(self._listen())

    async def _send(self) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while True:
            if self._is_measuring and loop.time() >= due:
                due = max(due + self._interval_seconds, loop.time())
                self._measure()
            for sequence in islice(self._kept, self.window):
                if loop.time() - self._sent_at.get(sequence, -RESEND_SECONDS) >= RESEND_SECONDS:
                    self._sent_at[sequence] = loop.time()
                    self._send_frame(sequence)
            if not self._is_measuring and not self._kept:
                self._done.set()
            self._changed.clear()
            timer = loop.call_at(due if self._is_measuring else loop.time() + 0.05, self._wake)
            await self._changed.wait()
            timer.cancel()

    def _wake(self) -> None:
        self._changed.set()

    def _measure(self) -> None:
        self._sequence += 1
        self._kept.append(self._sequence)
        if len(self._kept) > KEPT_MAX:
            self._kept.popleft()

    def _send_frame(self, sequence: int) -> None:
        self.sent.add((self._boot, sequence))
        measurements = [
            Measurement(NUMBER, sequence),
            Measurement(CHECK, check_of(sequence, self.device, self._boot)),
        ]
        identity = BoardIdentity(self.device, self._boot, sequence)
        self._terminal.send(frame_bytes_of(identity, measurements))

    async def _listen(self) -> None:
        part = b""
        while True:
            *frames, part = (part + await self._terminal.read()).split(b"\x00")
            for frame in filter(None, frames):
                try:
                    self._take(read_acknowledgement(frame))
                except Damaged:
                    continue  # The power was cut in the middle of this step.

    def _take(self, identity: BoardIdentity) -> None:
        assert identity.device == self.device, identity
        assert (identity.boot, identity.sequence) in self.sent, identity
        self.accepted.add((identity.boot, identity.sequence))
        if identity.boot == self._boot and identity.sequence in self._kept:
            self._kept.remove(identity.sequence)
            self._changed.set()


class Talker:
    """A sensor that writes JSON lines. Nothing is acknowledged or repeated."""

    def __init__(self, terminal: Terminal, name: str, *, interval_seconds: float) -> None:
        self.name = name
        self.sent = 0
        self._terminal = terminal
        self._interval_seconds = interval_seconds
        self._is_measuring = True

    def stop_measuring(self) -> None:
        self._is_measuring = False

    async def run(self) -> None:
        while self._is_measuring:
            self.sent += 1
            line = json.dumps({NUMBER: self.sent, CHECK: check_of(self.sent)})
            self._terminal.send(line.encode() + b"\n")
            await asyncio.sleep(self._interval_seconds)  # The clock of the sensor.
