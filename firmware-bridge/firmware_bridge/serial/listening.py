"""Reads a line whose sensors send unprompted, and passes decoded frames to the intake."""

import asyncio
import time
from collections.abc import Sequence

from firmware_bridge.protocols.frame import Tally, Unread
from firmware_bridge.protocols.interface import DecoderSettings
from firmware_bridge.readings.kinds import Kinds
from firmware_bridge.serial.intake import Intake
from firmware_bridge.serial.link import Link

# If the line is silent for this time, the rest of an incomplete frame will not follow.
IDLE_SECONDS = 1.0


class Listening:
    """Reader of a port whose devices send unprompted. It owns the port's decoder."""

    def __init__(self, settings: DecoderSettings, intake: Intake) -> None:
        self._settings = settings
        self._intake = intake
        self._decoder = settings.decoder()
        self._damaged_before = 0

    @property
    def tally(self) -> Tally:
        """The decoder's counters since the bridge started, such as the number of damaged frames."""
        return self._decoder.tally

    @property
    def kinds(self) -> Kinds:
        """The data types of the quantities on this line."""
        return self._decoder.kinds

    def unread(self) -> Sequence[Unread]:
        """Return an empty sequence. Only polled devices report quantities without a value."""
        return ()

    def begin_again(self) -> None:
        """Replace the decoder after an internal error, but keep the counters and data types."""
        before = self._decoder
        self._decoder = self._settings.decoder()
        self._decoder.tally = before.tally
        self._decoder.kinds.remember(before.kinds.known())

    async def run(self, link: Link) -> None:
        """Read the port until it is lost.

        Raises:
            PortLost: if the port is lost. The method never returns normally.
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
            self._intake.losses.check_skipped(self.tally.skipped)
            # A line that sends without a pause must not block the other ports and MQTT.
            await asyncio.sleep(0)
            await self._intake.wait_until_accepted()

    def _note_resync(self, is_read: bool) -> None:
        """Count a recovery (resync) if frames were decoded after damaged data.

        `is_read` is True if frames were decoded.
        """
        damaged = self.tally.damaged.total()
        if is_read and damaged > self._damaged_before:
            self._intake.status.resyncs += 1
        if is_read:
            self._damaged_before = damaged


async def _next_data(link: Link) -> bytes:
    """Return the next bytes, or empty bytes after IDLE_SECONDS of silence."""
    try:
        async with asyncio.timeout(IDLE_SECONDS):
            return await link.read()
    except TimeoutError:
        return b""
