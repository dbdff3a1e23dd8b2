"""Detects the device on an unconfigured port, while a person watches the progress.

Line settings and protocols are tried until one matches with high confidence. After that, the
device's values are shown as they arrive.
"""

import asyncio
import contextlib
import math
import re
import time
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from firmware_bridge.protocols.frame import Frame
from firmware_bridge.protocols.json_lines import JsonLines
from firmware_bridge.serial.detecting import LINES, SURE_ENOUGH, Guess, detect
from firmware_bridge.serial.link import PortLost
from firmware_bridge.serial.meter_search import poll_for_meter
from firmware_bridge.serial.opening import open_port
from firmware_bridge.serial.settings import PortSettings
from firmware_bridge.serial.watching import Reading, chunks_of_port
from gateway.process.control.messages import Refused
from gateway.process.declarations.serial_line import Line
from gateway.process.files.toml_text import text_of_keys

SECONDS_MAX: Final = 600.0
"""Longest detection. A web page that was left open must not block the port for other programs."""
LINE_SECONDS: Final = 3.0
"""Time for each line setting. Most sensors send every second or two."""
VALUES_MAX: Final = 32
"""Largest number of values of the last frame that are shown."""
TEXT_CHARACTERS_MAX: Final = 200
SILENCE_SECONDS: Final = 1.0

State = Literal["trying", "asking", "found", "nothing", "failed"]

_USB: Final = re.compile(r"[0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}(:[^\x00]{1,128})?")
_PATH: Final = re.compile(r"/[^\x00]{1,4095}")


def selection_of(port: str) -> dict[str, str]:
    """Return the key of `[[serial]]` that selects a port (`path` or `usb`), and its value.

    Raises Refused if `port` is neither a path nor a USB identity.
    """
    if _PATH.fullmatch(port):
        return {"path": port}
    if _USB.fullmatch(port):
        return {"usb": port}
    raise Refused("invalid", "a port is a path, /dev/ttyUSB0, or a USB identity, VID:PID[:SERIAL]")


def settings_of(port: str) -> PortSettings:
    """Return settings for opening a port. Their protocol is only a placeholder.

    Raises Refused if `port` is neither a path nor a USB identity.
    """
    selected = selection_of(port)
    path, usb = selected.get("path"), selected.get("usb")
    return PortSettings("detection", path, usb, "json", JsonLines())


class Detection:
    """The detection of the device on one port, with its progress.

    If the argument `polls` is True and nothing is received, the detection also polls for a meter.
    """

    def __init__(
        self,
        port: str,
        *,
        polls: bool = False,
        lines: Sequence[Line] = LINES,
        line_seconds: float = LINE_SECONDS,
    ) -> None:
        self.port = port
        self.watched_at = time.monotonic()
        self.state: State = "trying"
        self._begun_at = time.monotonic()
        self._polls = polls
        self._lines = lines
        self._line_seconds = line_seconds
        self._tried: list[dict[str, object]] = []
        self._best: Guess | None = None
        self._frames = 0
        self._latest: Frame | None = None
        self._latest_at: float | None = None
        self._fault: str | None = None

    def progress(self) -> dict[str, Any]:
        """Return the state of the detection, and its result so far.

        Each call also keeps the detection running, because it shows that a person is watching.
        """
        self.watched_at = now = time.monotonic()
        count = len(self._tried)
        return {
            "port": self.port,
            "state": self.state,
            "trouble": self._fault,
            "seconds": round(now - self._begun_at, 1),
            "line": str(self._lines[count]) if count < len(self._lines) else None,
            "lines_left": max(0, len(self._lines) - count),
            "tried": self._tried,
            "found": None if self._best is None else self._found(self._best, now),
        }

    def _found(self, best: Guess, now: float) -> dict[str, Any]:
        place = text_of_keys(selection_of(self.port)).strip()
        (table,) = tomllib.loads(best.toml("sensor", place))["serial"]
        return {
            "framing": best.framing,
            "line": str(best.line),
            "sure": round(best.sure, 2),
            "frames": best.frames + self._frames,
            "damaged": best.damaged,
            "table": {key: value for key, value in table.items() if key != "name"},
            "values": [] if self._latest is None else values_of(self._latest),
            "age_seconds": None if self._latest_at is None else round(now - self._latest_at, 1),
        }

    async def run(self) -> None:
        """Detect the device. If one is found, read its values until cancelled or timed out.

        The time limit `SECONDS_MAX` covers detection and reading together. A timeout or the loss of
        the port is recorded in the attribute `state`, and not raised.
        """
        try:
            async with asyncio.timeout(SECONDS_MAX):
                await self._detect()
        except TimeoutError:
            self.state = "failed"
            self._fault = f"ended after {SECONDS_MAX:g} s"
        except PortLost as lost:
            self.state, self._fault = "failed", str(lost)

    async def _detect(self) -> None:
        settings = settings_of(self.port)
        found = await self._best_on(settings)
        if found is None and self._polls:
            found = await self._answer_on(settings)
        if found is None:
            self.state = "nothing"
            return
        self.state = "found"
        await self._show_values(settings, found)

    async def _best_on(self, settings: PortSettings) -> Guess | None:
        async with contextlib.aclosing(detect(settings, self._line_seconds, self._lines)) as tries:
            async for line, count, guesses in tries:
                best = max(guesses, key=lambda guess: (guess.sure, guess.frames), default=None)
                self._tried.append(
                    {
                        "line": str(line),
                        "bytes": count,
                        "framing": None if best is None else best.framing,
                        "sure": None if best is None else round(best.sure, 2),
                    }
                )
                if best is not None and (self._best is None or best.sure > self._best.sure):
                    self._take(best)
                if self._best is not None and self._best.sure > SURE_ENOUGH:
                    break
        return self._best

    async def _answer_on(self, settings: PortSettings) -> Guess | None:
        self.state = "asking"
        async with contextlib.aclosing(poll_for_meter(settings)) as answers:
            async for _, _, guess in answers:
                if guess is not None:
                    self._take(guess)
                    return guess
        return None

    async def _show_values(self, settings: PortSettings, found: Guess) -> None:
        if found.settings is None:
            return
        reading = Reading(found.settings)
        link = await open_port(replace(settings, line=found.line))
        try:
            async with contextlib.aclosing(
                chunks_of_port(link, None, silence_seconds=SILENCE_SECONDS)
            ) as chunks:
                async for chunk in chunks:
                    if chunk.data:
                        reading.read(chunk.data)
                    else:
                        reading.read_silence()
                    if reading.latest is not None and reading.frames > self._frames:
                        self._frames = reading.frames
                        self._latest, self._latest_at = reading.latest, time.monotonic()
                    # A device that sends without a pause must not block the ports and MQTT.
                    await asyncio.sleep(0)
        finally:
            link.close()

    def _take(self, guess: Guess) -> None:
        self._best = guess
        if guess.latest is not None:
            self._latest, self._latest_at = guess.latest, time.monotonic()


def values_of(frame: Frame) -> list[dict[str, Any]]:
    """Return the first values of a frame, each with name and unit, as JSON for the web page."""
    found = [each for measurements in frame.quantities.values() for each in measurements]
    return [
        {"name": each.name, "value": _shown(each.value), "unit": each.unit}
        for each in found[:VALUES_MAX]
    ]


def _shown(value: float | str | bool | bytes) -> float | str | bool:
    if isinstance(value, bytes):
        value = value.hex()
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value[:TEXT_CHARACTERS_MAX] if isinstance(value, str) else value
