"""Detection of a port's speed, line settings and protocol: each is tried, and the frames that its
decoder reads are counted.

Only protocols whose sensors send by themselves, and that need no keys of their own; beside them
lines of numbers between commas, whose columns are given numbers as names. A guess is as
sure as the share of its frames in all that was read; few frames make it less sure, because noise
passes the looser protocols now and then.
"""

import asyncio
import contextlib
import re
from collections import Counter
from collections.abc import AsyncGenerator, Iterator, Sequence
from dataclasses import dataclass, replace

from firmware_bridge.protocols.csv_lines import CsvLines
from firmware_bridge.protocols.dsmr import Dsmr
from firmware_bridge.protocols.frame import Frame
from firmware_bridge.protocols.interface import DecoderSettings
from firmware_bridge.protocols.table import PROTOCOLS
from firmware_bridge.serial.opening import open_port
from firmware_bridge.serial.settings import PortSettings
from firmware_bridge.serial.watching import Reading, chunks_of_port
from gateway.process.declarations.serial_line import Line

# The rates of sensors, the usual ones first.
RATES = (115_200, 9600, 4800, 38_400, 19_200, 57_600, 2400, 230_400)
LINES = (*map(Line, RATES), Line(9600, 7, "E", 1), Line(4800, 7, "E", 1), Line(1200, 7, "E", 1),
         Line(2400, 8, "E", 1))  # fmt: skip
BYTES_TRIED_MAX = 65_536
"""Bytes of one setting that every protocol decodes: three seconds at 230,400 baud have 69,000. A
device with a USB port of its own sends a hundred times as many."""
# At this certainty no other setting is tried.
SURE_ENOUGH = 0.95
# One number in a line may be anything; more columns than this are no sensor's.
COLUMNS_MIN, COLUMNS_MAX = 2, 64
_WITH_KEY = 'key_file = "/etc/oncegate/meter-key"  # the key that the grid operator gives\n'
_NUMBER = re.compile(rb"[ \t]*[+-]?\d{1,20}(\.\d{0,20})?[ \t]*")


@dataclass(frozen=True, slots=True)
class Guess:
    """Result of a protocol for the bytes received with one setting of the line."""

    line: Line
    framing: str
    frames: int
    damaged: int
    keys: str = ""
    """Keys of the protocol, as lines of TOML; the columns of `csv` have made-up names."""
    frames_enough: int = 5
    """Number of good frames that are enough for full confidence."""
    latest: Frame | None = None
    """The last frame, for people."""
    settings: DecoderSettings | None = None
    """Settings of the protocol, to read on with; None: it has to be asked."""

    @property
    def sure(self) -> float:
        """Confidence, from 0 to 1."""
        if not self.frames:
            return 0.0
        share = self.frames / (self.frames + self.damaged)
        return share * min(1.0, self.frames / self.frames_enough)

    def toml(self, name: str, place: str) -> str:
        """Return the table for gateway.toml; `place` is the key that names the port."""
        return (
            f'[[serial]]\nname = "{name}"\n{place}\n'
            f'framing = "{self.framing}"\nline = "{self.line}"\n{self.keys}'
        )


def guesses_of(line: Line, pieces: Sequence[bytes]) -> list[Guess]:
    """Run every protocol on the received bytes; omit those that read nothing."""
    found = []
    for framing, protocol in PROTOCOLS.items():
        if not issubclass(protocol, DecoderSettings) or line.data_bits not in protocol.data_bits:
            continue
        for settings, keys in _settings_tried(protocol, pieces):
            reading = Reading(settings)
            for piece in pieces:
                reading.read(piece)
            if not reading.frames and not reading.encrypted:
                continue
            own_keys = keys if reading.frames or keys else _WITH_KEY
            # The first may be the rest of one.
            frames = reading.frames + reading.encrypted
            damaged = max(0, reading.damaged - reading.encrypted - 1)
            enough = settings.frames_enough
            latest = reading.latest
            found.append(Guess(line, framing, frames, damaged, own_keys, enough, latest, settings))
            break
    # Ciphered messages of a HAN port look like those of an encrypted P1 port to its decoder.
    if any(guess.framing == "dlms" for guess in found):
        return [guess for guess in found if guess.keys != _WITH_KEY or guess.framing == "dlms"]
    return found


def _settings_tried(
    protocol: type[DecoderSettings], pieces: Sequence[bytes]
) -> Iterator[tuple[DecoderSettings, str]]:
    """Yield what a protocol is tried with, and its keys, until one reads something."""
    if protocol is CsvLines:
        if columns := columns_of(b"".join(pieces)):
            names = ", ".join(f'"{column}"' for column in columns)
            yield CsvLines(columns=columns), f"columns = [{names}]\n"
        return
    try:
        yield protocol(), ""
    except TypeError:
        return  # It needs keys of its own.
    if protocol is Dsmr:
        yield Dsmr(crc=False), "crc = false\n"
        yield Dsmr(key_file="key"), _WITH_KEY


def columns_of(data: bytes) -> tuple[str, ...]:
    """Return names for the columns that most lines of numbers have; none without such lines."""
    counts: Counter[int] = Counter()
    # The first and the last may be parts of a line.
    for line in data.splitlines()[1:-1]:
        cells = line.split(b",")
        if COLUMNS_MIN <= len(cells) <= COLUMNS_MAX and all(map(_is_number, cells)):
            counts[len(cells)] += 1
    count = max(counts, key=lambda each: counts[each], default=0)
    return tuple(f"column_{number}" for number in range(1, count + 1))


def _is_number(cell: bytes) -> bool:
    return _NUMBER.fullmatch(cell) is not None


async def detect(
    settings: PortSettings, seconds_each: float, lines: Sequence[Line] = LINES
) -> AsyncGenerator[tuple[Line, int, list[Guess]], None]:
    """Try each line for so long: yield it, how many bytes came, and what they may be.

    Raises:
        PortLost: the port is not there, or in use.
    """
    for line in lines:
        pieces = await _pieces_on(replace(settings, line=line), seconds_each)
        # In a thread: the bridge reads its other ports meanwhile.
        yield line, sum(map(len, pieces)), await asyncio.to_thread(guesses_of, line, pieces)


async def _pieces_on(settings: PortSettings, seconds: float) -> list[bytes]:
    link = await open_port(settings)
    pieces: list[bytes] = []
    left = BYTES_TRIED_MAX
    try:
        async with contextlib.aclosing(chunks_of_port(link, seconds)) as chunks:
            async for chunk in chunks:
                pieces.append(chunk.data[:left])
                left -= len(pieces[-1])
                if not left:
                    break
    finally:
        link.close()
    return pieces
