"""Simulates a sensor board on a pseudo-terminal, with the protocol of a real board.

Like a real board, the simulated board counts its starts, numbers its frames, and measures even if
no bridge is running. It repeats each frame until the frame is acknowledged. The simulator is used
to show and test that restarts of the bridge neither lose nor duplicate readings.
"""

import asyncio
import contextlib
import logging
import math
import os
import random
import time
import tty
from collections import deque
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from firmware_bridge.protocols.board import FRAME_BYTES_MAX
from firmware_bridge.protocols.board_command import ARGUMENT_MS_MAX, AnswerCode, BoardCommand
from firmware_bridge.protocols.board_frame import (
    answer_bytes_of,
    frame_bytes_of,
    read_acknowledgement,
    read_command,
)
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.readings.measurement import Measurement
from firmware_bridge.readings.numbering import BoardIdentity
from gateway.process.files.durable import replace_durably
from gateway.process.files.lock import LockTaken, ProcessLock

logger = logging.getLogger(__name__)

# A frame is repeated after twice the latest acknowledgement time, within these limits.
RESEND_SECONDS_MIN = 0.5
RESEND_SECONDS_MAX = 30.0
# Frames that a board keeps in its RAM while no bridge is running. After that, it drops the oldest.
FRAMES_KEPT_MAX = 3600
# The limit in docs/formats/board-frame.md.
FRAMES_IN_FLIGHT_MAX = 32

_TERMINALS = "/dev/pts/"
_READ_BYTES = 4096
_DAY_SECONDS = 86400.0


class LinkTaken(RuntimeError):
    """Raised if the path for the link is already used, for example by another simulator."""


@dataclass(slots=True)
class _Sample:
    """The measurements of one frame. Times are in seconds and come from the monotonic clock."""

    sequence: int
    measured_at_seconds: float
    measurements: tuple[Measurement, ...]
    first_sent_at_seconds: float = math.inf
    sent_at_seconds: float = -math.inf


async def serve(
    link: Path, stop: asyncio.Event, interval_seconds: float = 1.0, device: int = 42
) -> None:
    """Run a simulated board until `stop` is set. A bridge can open `link` as its serial port.

    If `link` is left over from an earlier simulator, it is replaced.

    Raises:
        LinkTaken: if another simulator uses `link`, or `link` exists and is not from a simulator.
    """
    link.parent.mkdir(parents=True, exist_ok=True)
    with ProcessLock(link.with_name(f"{link.name}.lock")) as lock:
        try:
            lock.take()
        except LockTaken as error:
            raise LinkTaken(
                f"process {error.holder or '?'} simulates a board on {link}: stop it, or name "
                "another link"
            ) from None
        lock.note_holder()
        _refuse_foreign(link)
        await _serve_alone(link, stop, interval_seconds, device)


async def _serve_alone(
    link: Path, stop: asyncio.Event, interval_seconds: float, device: int
) -> None:
    master, slave = os.openpty()
    try:
        # Without this the terminal would echo the board's own frames back to it.
        tty.setraw(slave)
        os.set_blocking(master, False)
        board = SimulatedBoard(master, device, count_start(link.with_name(f"{link.name}.boot")))
        _point(link, os.ttyname(slave))
        logger.info("simulated board %08x on %s", device, link)
        await board.run(stop, interval_seconds)
    finally:
        _unlink(link, os.ttyname(slave))
        os.close(master)
        os.close(slave)


class SimulatedBoard:
    """A board that measures periodically and repeats frames until they are acknowledged.

    At most `in_flight_max` frames are unacknowledged. With a limit of 1, readings stay in order
    even if frames are lost. With a higher limit, the gateway can commit several frames together,
    which reduces writes to the SD card (`gathering.py`).
    """

    def __init__(self, master: int, device: int, boot: int, *, in_flight_max: int = 1) -> None:
        assert 1 <= in_flight_max <= FRAMES_IN_FLIGHT_MAX
        self._master = master
        self._device = device
        self._boot = boot
        self._sequence = 0
        self._kept: deque[_Sample] = deque()
        self._in_flight_max = in_flight_max
        self._resend_seconds = RESEND_SECONDS_MIN
        self._part = bytearray()
        self._random = random.Random(device * 1_000_003 + boot)  # noqa: S311 - weather, no secret
        self._drift = 0.0
        self._interval_seconds = 1.0
        self._next_sample = 0.0
        self.acknowledged = 0
        self.given_up = 0

    @property
    def waiting(self) -> int:
        """The number of frames that are not acknowledged yet."""
        return len(self._kept)

    async def run(self, stop: asyncio.Event, interval_seconds: float) -> None:
        """Measure and send until `stop` is set."""
        loop = asyncio.get_running_loop()
        loop.add_reader(self._master, self._read)
        self._interval_seconds = interval_seconds
        self._next_sample = loop.time()
        try:
            while not stop.is_set():
                now = loop.time()
                if now >= self._next_sample:
                    self.measure()
                    self._next_sample = max(self._next_sample + self._interval_seconds, now)
                self._send_due(now)
                pause = min(self._next_sample - now, RESEND_SECONDS_MIN)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(max(pause, 0.0)):
                        await stop.wait()
        finally:
            loop.remove_reader(self._master)

    def measure(self) -> None:
        """Record one sample. If the memory is full, the oldest sample is dropped."""
        if len(self._kept) >= FRAMES_KEPT_MAX:
            self._kept.popleft()
            self.given_up += 1
        self._sequence += 1
        self._kept.append(_Sample(self._sequence, time.monotonic(), self._weather()))

    def _weather(self) -> tuple[Measurement, ...]:
        """Return simulated measurements in a cabinet: temperature, humidity and pressure.

        The air is warmest after noon, and drier when it is warm. All values also drift slowly.
        """
        noise = self._random.gauss
        self._drift = 0.995 * self._drift + noise(0.0, 0.02)
        phase = 2 * math.pi * (time.time() % _DAY_SECONDS) / _DAY_SECONDS
        warmth = math.sin(phase - 2.2) + self._drift
        temperature = 21.5 + 2.5 * warmth + noise(0.0, 0.03)
        humidity = min(95.0, max(10.0, 46.0 - 6.0 * warmth + noise(0.0, 0.15)))
        pressure = 1013.2 + 4.0 * math.sin(phase / 3 + self._device) + 8 * self._drift / 10
        return (
            Measurement("temperature", round(temperature, 2), "Cel"),
            Measurement("humidity", round(humidity, 1), "%RH"),
            Measurement("pressure", round(pressure + noise(0.0, 0.03), 2), "hPa"),
        )

    def _send_due(self, now: float) -> None:
        for sample in list(islice(self._kept, self._in_flight_max)):
            if now - sample.sent_at_seconds < self._resend_seconds:
                continue
            frame = frame_bytes_of(self._identity(sample.sequence), _aged(sample))
            try:
                os.write(self._master, frame)
            except BlockingIOError:
                return  # The line is full because no program reads. The frame is repeated later.
            sample.sent_at_seconds = now
            sample.first_sent_at_seconds = min(sample.first_sent_at_seconds, now)

    def _read(self) -> None:
        try:
            data = os.read(self._master, _READ_BYTES)
        except OSError:
            return  # The terminal's other end is being opened or closed.
        *pieces, rest = data.split(b"\x00")
        for piece in pieces:
            self._part += piece
            if self._part:
                self._receive(bytes(self._part))
            self._part.clear()
        self._part += rest[: FRAME_BYTES_MAX - len(self._part)]

    def _receive(self, stuffed: bytes) -> None:
        try:
            identity = read_acknowledgement(stuffed)
        except Damaged:
            self._receive_command(stuffed)
            return
        if identity != self._identity(identity.sequence):
            return  # It is for another board on this line, or this board has restarted since.
        now = asyncio.get_running_loop().time()
        for sample in list(islice(self._kept, self._in_flight_max)):
            if sample.sequence == identity.sequence:
                self._kept.remove(sample)
                took_seconds = now - sample.first_sent_at_seconds
                self._resend_seconds = min(
                    max(2 * took_seconds, RESEND_SECONDS_MIN), RESEND_SECONDS_MAX
                )
                self.acknowledged += 1
        self._send_due(now)

    def _receive_command(self, stuffed: bytes) -> None:
        try:
            identity, command, argument_ms = read_command(stuffed)
        except Damaged:
            return
        if identity != self._identity(identity.sequence):
            return
        code = self._carry_out(command, argument_ms)
        with contextlib.suppress(BlockingIOError):
            os.write(self._master, answer_bytes_of(identity, code))

    def _carry_out(self, command: int, argument_ms: int) -> AnswerCode:
        if command not in list(BoardCommand):
            return AnswerCode.UNKNOWN_COMMAND
        if not 1 <= argument_ms <= ARGUMENT_MS_MAX:
            return AnswerCode.BAD_ARGUMENT
        if command == BoardCommand.SET_INTERVAL:
            self._interval_seconds = argument_ms / 1000
            soon = asyncio.get_running_loop().time() + self._interval_seconds
            self._next_sample = min(self._next_sample, soon)
        else:
            logger.info("simulated board %08x is here", self._device)
        return AnswerCode.DONE

    def _identity(self, sequence: int) -> BoardIdentity:
        return BoardIdentity(self._device, self._boot, sequence)


def count_start(path: Path) -> int:
    """Increment the count of the board's starts in the file `path`, and return the new count."""
    try:
        boot = int(path.read_text()) + 1
    except FileNotFoundError:
        boot = 1
    except ValueError:
        # A start number must not be reused. Unix seconds are larger than any count of starts.
        boot = int(time.time())
    part = path.with_name(f"{path.name}.part")
    replace_durably(path, f"{boot}\n".encode(), partial=part)
    return boot


def _aged(sample: _Sample) -> list[Measurement]:
    """Return a sample's measurements, with times relative to now, such as -2.5 seconds.

    A board sends relative times because it has no clock (RFC 8428 section 4.5.3).
    """
    age_seconds = round(sample.measured_at_seconds - time.monotonic(), 3)
    return [
        Measurement(each.name, each.value, each.unit, age_seconds) for each in sample.measurements
    ]


def _point(link: Path, terminal: str) -> None:
    """Make `link` point to `terminal`. The link is replaced atomically, so it always exists."""
    part = link.with_name(f"{link.name}.part")
    part.unlink(missing_ok=True)
    part.symlink_to(terminal)
    part.replace(link)


def _refuse_foreign(link: Path) -> None:
    """Raise LinkTaken if `link` exists and is not a link to a pseudo-terminal."""
    if link.is_symlink():
        if str(link.readlink()).startswith(_TERMINALS):
            return
        raise LinkTaken(f"{link} is a link to {link.readlink()}: remove it, or name another link")
    if link.exists():
        raise LinkTaken(f"{link} exists and is not a link: name another path for the link")


def _unlink(link: Path, terminal: str) -> None:
    if link.is_symlink() and str(link.readlink()) == terminal:
        link.unlink()
