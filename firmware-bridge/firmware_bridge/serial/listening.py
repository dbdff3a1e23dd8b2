"""Reads a line whose sensors send by themselves: bytes to the decoder, frames to the intake."""

import asyncio
import time
from collections.abc import Sequence

from firmware_bridge.protocols.frame import Tally, Unread
from firmware_bridge.protocols.interface import DecoderSettings
from firmware_bridge.readings.kinds import Kinds
from firmware_bridge.serial.intake import Intake
from firmware_bridge.serial.link import Link

# A line that stays silent this long will not complete what it has begun.
IDLE_SECONDS = 1.0


class Listening:
    """One port's decoder at work."""

    def __init__(self, settings: DecoderSettings, intake: Intake) -> None:
        self._settings = settings
        self._intake = intake
        self._decoder = settings.decoder()
        self._damaged_before = 0

    @property
    def tally(self) -> Tally:
        """Bytes that were no frame, since the bridge's start."""
        return self._decoder.tally

    @property
    def kinds(self) -> Kinds:
        """The kinds of the line's quantities."""
        return self._decoder.kinds

    def unread(self) -> Sequence[Unread]:
        """Return none: devices that send by themselves are not asked for quantities."""
        return ()

    def begin_again(self) -> None:
        """Take another decoder, after an error in this one, with its counters and kinds."""
        before = self._decoder
        self._decoder = self._settings.decoder()
        self._decoder.tally = before.tally
        self._decoder.kinds.remember(before.kinds.known())

    async def run(self, link: Link) -> None:
        """Read until the port is lost.

        Raises:
            PortLost: the port is gone.
        """
        opened_at, first = time.monotonic(), True
        while True:
            data = await _next_data(link)
            if first:
                soon = time.monotonic() - opened_at < link.mid_line_seconds
                self._decoder.begin(mid_line=soon)
                self._intake.recent.begin()
                first = False
            self._intake.status.note_bytes(len(data))
            self._intake.recent.received(data)
            frames = self._decoder.feed(data) if data else self._decoder.flush()
            self._intake.recent.decoded(frames, self.tally)
            for frame in frames:
                self._intake.take(frame, link)
            self._note_resync(bool(frames))
            self._intake.losses.check_damage(self.tally.damaged)
            self._intake.losses.check_left_out(self.tally.left_out)
            # A line that always has something must not keep the others and MQTT from being served.
            await asyncio.sleep(0)
            await self._intake.wait_until_taken()

    def _note_resync(self, is_read: bool) -> None:
        """Count that frames are read again where something was damaged; once a read of the port."""
        damaged = self.tally.damaged.total()
        if is_read and damaged > self._damaged_before:
            self._intake.status.resyncs += 1
        if is_read:
            self._damaged_before = damaged


async def _next_data(link: Link) -> bytes:
    """Read the next bytes; none where the line was silent for IDLE_SECONDS."""
    try:
        async with asyncio.timeout(IDLE_SECONDS):
            return await link.read()
    except TimeoutError:
        return b""
