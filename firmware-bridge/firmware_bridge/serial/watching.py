"""Reads a serial line without the bridge, and shows decoded frames as human-readable text."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Mapping

from firmware_bridge.protocols.frame import Frame
from firmware_bridge.protocols.interface import DecoderSettings
from firmware_bridge.serial.link import Link
from firmware_bridge.serial.recording import Chunk


async def chunks_of_port(
    link: Link, seconds_max: float | None, *, silence_seconds: float | None = None
) -> AsyncGenerator[Chunk, None]:
    """Read a port. Yield the bytes of each read as one chunk.

    Stop after `seconds_max` seconds, or never if `seconds_max` is None. If data is followed by
    `silence_seconds` without a byte, one empty chunk is yielded.

    Raises:
        PortLost: if the port was lost.
    """
    begun, is_silent = time.monotonic(), True
    try:
        async with asyncio.timeout(seconds_max):
            while True:
                data = await _next_data(link, None if is_silent else silence_seconds)
                is_silent = not data
                yield Chunk(time.monotonic() - begun, data)
    except TimeoutError:
        return


async def _next_data(link: Link, silence_seconds: float | None) -> bytes:
    try:
        async with asyncio.timeout(silence_seconds):
            return await link.read()
    except TimeoutError:
        return b""


class Reading:
    """A decoder that returns a line of text for each decoded frame, and for damaged data."""

    def __init__(self, settings: DecoderSettings, units: Mapping[str, str] | None = None) -> None:
        """Create the decoder. The first received bytes may be the rest of an incomplete frame.

        `units` are the configured units, keyed by quantity.
        """
        self._units = units or {}
        self._decoder = settings.decoder()
        self._decoder.begin(mid_line=True)
        self.frames = 0
        self.latest: Frame | None = None

    @property
    def encrypted(self) -> int:
        """The number of valid messages that cannot be decrypted, because their key is unknown."""
        return self._decoder.tally.damaged["encrypted"]

    @property
    def damaged(self) -> int:
        """The number of damaged frames so far."""
        return self._decoder.tally.damaged.total()

    def read(self, data: bytes) -> list[str]:
        """Process received bytes.

        Return one line of text for each complete frame and each reason for damage.
        """
        return self._texts_of(lambda: self._decoder.feed(data))

    def read_silence(self) -> list[str]:
        """Return the texts of frames whose end is marked by silence on the line.

        This is called when the line has become silent.
        """
        return self._texts_of(self._decoder.flush)

    def _texts_of(self, decode: Callable[[], list[Frame]]) -> list[str]:
        tally = self._decoder.tally
        damaged_before, skipped_before = tally.damaged.copy(), tally.skipped.copy()
        frames = decode()
        self.frames += len(frames)
        self.latest = frames[-1] if frames else self.latest
        return [
            *(text_of(frame, self._units) for frame in frames),
            *map(self._with_limit, _texts_of("!!", tally.damaged - damaged_before)),
            *_texts_of("left out:", tally.skipped - skipped_before),
        ]

    def _with_limit(self, text: str) -> str:
        """Append the maximum frame size to a text about an overlong frame.

        Any other text is returned unchanged.
        """
        limit = self._decoder.frame_bytes_max
        return f"{text}: more than {limit} bytes" if "overlong" in text and limit else text


def _texts_of(mark: str, counts: Mapping[str, int]) -> list[str]:
    return [
        f"{mark} {reason} x{count}" if count > 1 else f"{mark} {reason}"
        for reason, count in counts.items()
    ]


def text_of(frame: Frame, units: Mapping[str, str]) -> str:
    """Return a frame as one line of text: the device, and values such as `temperature=21.5 Cel`.

    A unit in `units` comes from the port's configuration, and replaces the protocol's unit.
    """
    head = []
    if frame.identity is not None:
        head.append(f"{frame.identity.device_name} #{frame.identity.sequence}")
    elif frame.device is not None:
        head.append(frame.device)
    return "  ".join(each for each in (*head, values_text(frame, units)) if each) or "(no reading)"


def values_text(frame: Frame, units: Mapping[str, str]) -> str:
    """Return the values of a frame as text, without the name of the device.

    If a value was omitted, the text contains the reason instead.
    """
    found = [
        f"{each.name}={each.value!r}{f' {unit}' if unit else ''}"
        for measurements in frame.quantities.values()
        for each in measurements
        for unit in (units.get(each.name, each.unit),)
    ]
    return "  ".join([*found, *(f"{name}=? {why}" for name, why in frame.skipped.items())])
