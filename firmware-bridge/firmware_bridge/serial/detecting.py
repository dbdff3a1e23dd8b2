"""Which speed, line and protocol a port has: each is tried, and what its decoder reads is counted.

Only protocols whose sensors send by themselves, and that need no keys of their own. A guess is as
sure as the share of its frames in all that was read; few frames make it less sure, because noise
passes the looser protocols now and then.
"""

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace

from firmware_bridge.protocols.interface import DecoderSettings
from firmware_bridge.protocols.table import PROTOCOLS
from firmware_bridge.serial.opening import open_port
from firmware_bridge.serial.settings import PortSettings
from firmware_bridge.serial.watching import Reading, chunks_of_port
from gateway.keys.serial_line import Line

# The rates of sensors, the usual ones first.
RATES = (115_200, 9600, 4800, 38_400, 19_200, 57_600, 2400, 230_400)
LINES = (*map(Line, RATES), Line(9600, 7, "E", 1), Line(4800, 7, "E", 1))
# So many good frames leave no doubt that comes from their being few.
FRAMES_ENOUGH = 5


@dataclass(frozen=True, slots=True)
class Guess:
    """What a protocol made of the bytes that came with one setting of the line."""

    line: Line
    framing: str
    frames: int
    damaged: int

    @property
    def sure(self) -> float:
        """How sure it is, from 0 to 1."""
        if not self.frames:
            return 0.0
        share = self.frames / (self.frames + self.damaged)
        return share * min(1.0, self.frames / FRAMES_ENOUGH)

    def toml(self, name: str, place: str) -> str:
        """Return the table for gateway.toml; `place` is the key that names the port."""
        return (
            f'[[serial]]\nname = "{name}"\n{place}\n'
            f'framing = "{self.framing}"\nline = "{self.line}"\n'
        )


def guesses_of(line: Line, pieces: Sequence[bytes]) -> list[Guess]:
    """Let every protocol read what came; those that read nothing are left out."""
    found = []
    for framing, protocol in PROTOCOLS.items():
        if not issubclass(protocol, DecoderSettings) or line.data_bits not in protocol.data_bits:
            continue
        try:
            reading = Reading(protocol())
        except TypeError:
            continue  # It needs keys of its own.
        for piece in pieces:
            reading.read(piece)
        # The first may be the rest of one.
        damaged = max(0, reading.damaged - 1)
        if reading.frames:
            found.append(Guess(line, framing, reading.frames, damaged))
    return found


async def detect(
    settings: PortSettings, seconds_each: float, lines: Sequence[Line] = LINES
) -> AsyncIterator[tuple[Line, int, list[Guess]]]:
    """Try each line for so long: yield it, how many bytes came, and what they may be.

    Raises:
        PortLost: the port is not there, or in use.
    """
    for line in lines:
        link = await open_port(replace(settings, line=line))
        try:
            pieces = [chunk.data async for chunk in chunks_of_port(link, seconds_each)]
        finally:
            link.close()
        yield line, sum(map(len, pieces)), guesses_of(line, pieces)
