"""Reads a line whose sensors send by themselves: bytes to the decoder, frames to the intake."""

import asyncio
import time

from firmware_bridge.protocols.frame import Tally
from firmware_bridge.protocols.interface import DecoderSettings
from firmware_bridge.serial.intake import Intake
from firmware_bridge.serial.link import SerialLink

# Opening empties the kernel's buffer; what comes sooner after it is the rest of a line.
MID_LINE_SECONDS = 0.02
# A line that stays silent this long will not complete what it has begun.
IDLE_SECONDS = 1.0


class Listening:
    """One port's decoder at work."""

    def __init__(self, settings: DecoderSettings, intake: Intake) -> None:
        self._settings = settings
        self._intake = intake
        self._decoder = settings.decoder()

    @property
    def tally(self) -> Tally:
        """What was no frame since the bridge's start."""
        return self._decoder.tally

    def begin_again(self) -> None:
        """Take another decoder, after an error in this one; the counters go on."""
        tally = self._decoder.tally
        self._decoder = self._settings.decoder()
        self._decoder.tally = tally

    async def run(self, link: SerialLink) -> None:
        """Read until the port is lost.

        Raises:
            PortLost: the port is gone.
        """
        opened_at, first = time.monotonic(), True
        while True:
            data = await _next_data(link)
            if first:
                soon = time.monotonic() - opened_at < MID_LINE_SECONDS
                self._decoder.begin(mid_line=soon and link.may_cut_lines)
                first = False
            self._intake.status.bytes_read += len(data)
            for frame in self._decoder.feed(data) if data else self._decoder.flush():
                self._intake.take(frame, link)
            # A line that always has something must not keep the others and MQTT from being served.
            await asyncio.sleep(0)
            await self._intake.wait_until_taken(can_wait=self._decoder.can_wait)


async def _next_data(link: SerialLink) -> bytes:
    """Read the next bytes; none where the line was silent for IDLE_SECONDS."""
    try:
        async with asyncio.timeout(IDLE_SECONDS):
            return await link.read()
    except TimeoutError:
        return b""
