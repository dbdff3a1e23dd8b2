"""A line beside the bridge: its bytes with what a protocol makes of them, for people and files."""

import asyncio
import time
from collections.abc import AsyncIterator

from firmware_bridge.protocols.frame import Frame
from firmware_bridge.protocols.interface import DecoderSettings
from firmware_bridge.serial.link import Link
from firmware_bridge.serial.recording import Chunk


async def chunks_of_port(link: Link, seconds_max: float | None) -> AsyncIterator[Chunk]:
    """Read a port for so long, or until it is gone. Raises `PortLost`."""
    begun = time.monotonic()
    try:
        async with asyncio.timeout(seconds_max):
            while True:
                data = await link.read()
                yield Chunk(time.monotonic() - begun, data)
    except TimeoutError:
        return


class Reading:
    """What a decoder makes of chunks: a line of text for each frame and each damage."""

    def __init__(self, settings: DecoderSettings) -> None:
        self._decoder = settings.decoder()
        self._decoder.begin(mid_line=True)
        self.frames = 0

    @property
    def damaged(self) -> int:
        """How much was damaged so far."""
        return self._decoder.tally.damaged.total()

    def read(self, data: bytes) -> list[str]:
        """Return a text for each frame that these bytes complete, and for each damage in them."""
        before = self._decoder.tally.damaged.copy()
        frames = self._decoder.feed(data)
        self.frames += len(frames)
        damage = self._decoder.tally.damaged - before
        return [text_of(frame) for frame in frames] + [
            f"!! {reason} x{count}" if count > 1 else f"!! {reason}"
            for reason, count in damage.items()
        ]


def text_of(frame: Frame) -> str:
    """Return a frame's measurements in a line: `temperature=21.5 Cel`."""
    head = []
    if frame.identity is not None:
        head.append(f"{frame.identity.device_name} #{frame.identity.sequence}")
    elif frame.device is not None:
        head.append(frame.device)
    values = [
        f"{each.name}={each.value!r}{f' {each.unit}' if each.unit else ''}"
        for measurements in frame.quantities.values()
        for each in measurements
    ]
    return "  ".join(head + values) or "(no reading)"
