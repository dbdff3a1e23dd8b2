"""Detection of a port's baud rate, line settings and protocol.

Each line setting is tried with each protocol, and the decoded frames are counted. Only protocols
that need no settings, and whose sensors send unprompted, are tried. CSV is also tried, with
invented column names. The confidence in a guess is the share of good frames among all frames. It is
lower if there are only a few frames, because noise can look like a frame of a protocol with weak
checks.
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
from firmware_bridge.protocols.joined_units import split_unit
from firmware_bridge.protocols.key_value import KeyValueLines
from firmware_bridge.protocols.lines import unwrapped
from firmware_bridge.protocols.nmea import Nmea
from firmware_bridge.protocols.table import PROTOCOLS
from firmware_bridge.protocols.text_values import is_nothing
from firmware_bridge.serial.opening import open_port
from firmware_bridge.serial.settings import PortSettings
from firmware_bridge.serial.watching import Reading, chunks_of_port
from gateway.process.declarations.serial_line import Line

# Baud rates that sensors use, the most common ones first.
RATES = (115_200, 9600, 4800, 38_400, 19_200, 57_600, 2400, 230_400)
LINES = (*map(Line, RATES), Line(9600, 7, "E", 1), Line(4800, 7, "E", 1), Line(1200, 7, "E", 1),
         Line(2400, 8, "E", 1))  # fmt: skip
BYTES_TRIED_MAX = 65_536
"""Maximum number of bytes, per line setting, that are decoded with every protocol.

Three seconds at 230,400 baud are 69,000 bytes. A device with native USB sends a hundred times more.
"""
# Above this confidence no other setting is tried.
SURE_ENOUGH = 0.95
# A line with one number may be anything, and no sensor has more columns than this.
COLUMNS_MIN, COLUMNS_MAX = 2, 64
_WITH_KEY = 'key_file = "/etc/oncegate/meter-key"  # the key that the grid operator gives\n'
_WITH_COLONS = 'value_separator = ":"\n'
_NUMBER = re.compile(r"[+-]?\d{1,20}([.,]\d{0,20})?([eE][+-]?\d{1,2})?", re.ASCII)
_DELIMITERS = (";", "\t", ",")


@dataclass(frozen=True, slots=True)
class Guess:
    """A line setting and protocol that a device might use, and how well they decode its bytes."""

    line: Line
    framing: str
    frames: int
    damaged: int
    keys: str = ""
    """Settings of the protocol as lines of TOML. For `csv`, the column names are invented."""
    frames_enough: int = 5
    """The number of good frames needed for full confidence."""
    latest: Frame | None = None
    """The last decoded frame, to be shown to a person."""
    settings: DecoderSettings | None = None
    """Settings to continue reading with, or None if the device must be polled."""

    @property
    def sure(self) -> float:
        """The confidence in this guess, from 0 (none) to 1 (certain)."""
        if not self.frames:
            return 0.0
        share = self.frames / (self.frames + self.damaged)
        return share * min(1.0, self.frames / self.frames_enough)

    def toml(self, name: str, place: str) -> str:
        """Return the `[[serial]]` table for gateway.toml that configures a port with this guess.

        `name` is the name of the port. `place` is the line of TOML that selects the port, such as
        `path = "/dev/ttyUSB0"`.
        """
        return (
            f'[[serial]]\nname = "{name}"\n{place}\n'
            f'framing = "{self.framing}"\nline = "{self.line}"\n{self.keys}'
        )


def guesses_of(line: Line, pieces: Sequence[bytes]) -> list[Guess]:
    """Decode the received pieces with every protocol, and return a guess for each that matches.

    A protocol matches if it decodes at least one frame, or finds an encrypted frame.
    """
    found = []
    for framing, protocol in PROTOCOLS.items():
        if not issubclass(protocol, DecoderSettings) or line.data_bits not in protocol.data_bits:
            continue
        for settings, keys in _settings_to_try(protocol, pieces):
            reading = Reading(settings)
            for piece in pieces:
                reading.read(piece)
            if not reading.frames and not reading.encrypted:
                continue
            if keys == _WITH_COLONS and not _has_number(reading.latest):
                continue  # A log message such as "INFO: connected" looks like a pair.
            own_keys = keys if reading.frames or keys else _WITH_KEY
            # The first damaged frame may be the end of a frame that began before.
            frames = reading.frames + reading.encrypted
            damaged = max(0, reading.damaged - reading.encrypted - 1)
            enough = settings.frames_enough
            latest = reading.latest
            found.append(Guess(line, framing, frames, damaged, own_keys, enough, latest, settings))
            break
    if any(guess.framing == "mysensors" for guess in found):
        # Messages of MySensors are also numbers between semicolons.
        found = [guess for guess in found if guess.framing != "csv"]
    # To the P1 decoder, encrypted messages from a HAN port look like those from a P1 port.
    if any(guess.framing == "dlms" for guess in found):
        return [guess for guess in found if guess.keys != _WITH_KEY or guess.framing == "dlms"]
    return found


def _settings_to_try(
    protocol: type[DecoderSettings], pieces: Sequence[bytes]
) -> Iterator[tuple[DecoderSettings, str]]:
    """Yield each variant of a protocol's settings to try, with the TOML that configures it.

    The TOML is an empty string for the protocol's default settings.
    """
    if protocol is CsvLines:
        if columns := columns_of(b"".join(pieces)):
            names = ", ".join(f'"{column}"' for column in columns)
            yield CsvLines(columns=columns), f"columns = [{names}]\n"
        return
    try:
        yield protocol(), ""
    except TypeError:
        return  # It needs keys of its own.
    if protocol is KeyValueLines:
        yield KeyValueLines(value_separator=":"), _WITH_COLONS
    if protocol is Nmea:
        yield Nmea(checksum_required=False), "checksum_required = false\n"
    if protocol is Dsmr:
        yield Dsmr(crc=False), "crc = false\n"


def _has_number(frame: Frame | None) -> bool:
    found = () if frame is None else frame.quantities.values()
    values = [each.value for measurements in found for each in measurements]
    return any(isinstance(value, int | float) and not isinstance(value, bool) for value in values)


def columns_of(data: bytes) -> tuple[str, ...]:
    """Return names for the columns of CSV data: `column_1`, `column_2` and so on.

    Only lines of numbers count, in the forms that the protocol `csv` reads. Some of the numbers may
    be missing (`nan`). The number of names is the most frequent number of columns in these lines.
    The result is empty if there are no such lines.
    """
    counts: Counter[int] = Counter()
    # The first and the last line may be incomplete.
    for line in data.splitlines()[1:-1]:
        with contextlib.suppress(UnicodeDecodeError):
            counts[_columns_in(unwrapped(line.decode().strip()))] += 1
    counts.pop(0, None)
    count = max(counts, key=lambda each: counts[each], default=0)
    return tuple(f"column_{number}" for number in range(1, count + 1))


def _columns_in(line: str) -> int:
    """Return the number of columns in a line of numbers, or 0 if the line is anything else."""
    delimiter = next((each for each in _DELIMITERS if each in line), ",")
    cells = [each.strip() for each in line.removesuffix(delimiter).split(delimiter)]
    for found in (cells, line.replace("|", " ").split()):
        if COLUMNS_MIN <= len(found) <= COLUMNS_MAX and _are_numbers(found):
            return len(found)
    return 0


def _are_numbers(cells: Sequence[str]) -> bool:
    """Return True if at least half of the cells are numbers, and the others are missing numbers."""
    numbers = [split_unit(each.strip('"'))[0] for each in cells]
    missing = sum(map(is_nothing, numbers))
    return 2 * missing <= len(numbers) and all(
        is_nothing(each) or _NUMBER.fullmatch(each) for each in numbers
    )


async def detect(
    settings: PortSettings, seconds_each: float, lines: Sequence[Line] = LINES
) -> AsyncGenerator[tuple[Line, int, list[Guess]], None]:
    """Read the port with each line setting for `seconds_each` seconds.

    Yield one result per setting. A result is the line setting, the number of received bytes, and
    the guesses for these bytes.

    Raises:
        PortLost: if the port does not exist or is in use.
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
