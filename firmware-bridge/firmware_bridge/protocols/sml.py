"""SML, the Smart Message Language of electricity meters, in its transport protocol version 1::

    1B 1B 1B 1B | 01 01 01 01 | messages, filled up to 4 bytes | 1B 1B 1B 1B | 1A | fill u8 | crc16

The messages count in steps of four bytes. If they contain the escape 1B 1B 1B 1B themselves,
it is doubled. The CRC-16/X-25 (of some meters CRC-16/KERMIT) is of all before it. Source: BSI
TR-03109-1, annex SML, sections 6 and 8.
"""

from dataclasses import dataclass
from typing import ClassVar

from firmware_bridge.protocols.checksums import crc16_kermit, crc16_x25
from firmware_bridge.protocols.frame import TYPE, Damaged, Frame
from firmware_bridge.protocols.interface import DecoderSettings
from firmware_bridge.protocols.scanning import ScanningDecoder
from firmware_bridge.protocols.sml_messages import read_messages
from gateway.process.declarations.serial_line import Line

# What meters send has 200 to 700 bytes. It is the only bound of a file.
FILE_BYTES_MAX = 4096

_ESCAPE = b"\x1b" * 4
_START = _ESCAPE + b"\x01" * 4
_END = 0x1A
_END_BYTES = 8
_FILL_MAX = 3


@dataclass(frozen=True, kw_only=True)
class Sml(DecoderSettings):
    """Files of SML, as meters send them by themselves."""

    default_line: ClassVar = Line(9600)

    @property
    def frames_enough(self) -> int:
        """Return 1: a 16-bit CRC proves the protocol."""
        return 1

    def decoder(self) -> "SmlDecoder":
        """Create a decoder for one line."""
        return SmlDecoder()


class SmlDecoder(ScanningDecoder):
    """A file that another one begins in is damaged; the other one is read."""

    frame_bytes_max = FILE_BYTES_MAX

    def __init__(self) -> None:
        super().__init__(_START)

    def end_of(self, buffer: bytes, position: int) -> int | None:
        """Find the end after the messages; None: it has not arrived."""
        limit = position + FILE_BYTES_MAX
        again = buffer.find(_START, position + len(_START), limit)
        at = position + len(_START)
        while (at := buffer.find(_ESCAPE, at, again if again >= 0 else limit)) >= 0:
            if (at - position) % 4:
                at += 1  # The last bytes before an escape may be 1B too.
                continue
            if len(buffer) < at + _END_BYTES:
                return None
            if buffer[at + 4] == _END:
                return at + _END_BYTES
            if buffer[at + 4 : at + 8] != _ESCAPE:
                if len(buffer) < at + len(_ESCAPE) + len(_START):
                    return None  # The next file's beginning may overlap with it.
                raise Damaged("escape")
            at += 8
        if again >= 0:
            raise Damaged("truncated")
        if len(buffer) >= limit:
            raise Damaged("overlong")
        return None

    def read_frame(self, data: bytes) -> Frame | None:
        """Check the CRC and read the messages."""
        fill = data[-3]
        found = int.from_bytes(data[-2:], "little")
        if found not in (crc16_x25(data[:-2]), crc16_kermit(data[:-2])):
            raise Damaged("checksum")
        if fill > _FILL_MAX:
            raise Damaged("fill")
        messages = data[len(_START) : len(data) - _END_BYTES - fill]
        quantities = read_messages(_unescaped(messages), self.tally.left_out)
        if changed := self.kinds.keep(quantities):
            self.tally.left_out[TYPE] += changed
        return Frame(quantities) if quantities else None


def _unescaped(messages: bytes) -> bytes:
    """Return the messages with each escape once."""
    if _ESCAPE not in messages:
        return messages
    steps = [messages[at : at + 4] for at in range(0, len(messages), 4)]
    kept: list[bytes] = []
    escaped = False
    for step in steps:
        escaped = step == _ESCAPE and not escaped
        if not escaped:
            kept.append(step)
    return b"".join(kept)
