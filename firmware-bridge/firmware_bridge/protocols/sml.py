"""The SML protocol (Smart Message Language) of electricity meters, with transport version 1::

    1B 1B 1B 1B | 01 01 01 01 | messages | fill bytes | 1B 1B 1B 1B | 1A | fill count u8 | crc16

Up to 3 fill bytes extend the messages to a multiple of four bytes. Inside the messages, the escape
sequence 1B 1B 1B 1B is sent twice. The CRC-16/X-25 (CRC-16/KERMIT with some meters) covers all
bytes before it. Source: BSI TR-03109-1, annex SML, sections 6 and 8.
"""

from dataclasses import dataclass
from typing import ClassVar

from firmware_bridge.protocols.checksums import crc16_kermit, crc16_x25
from firmware_bridge.protocols.frame import TYPE, Damaged, Frame
from firmware_bridge.protocols.interface import DecoderSettings
from firmware_bridge.protocols.scanning import ScanningDecoder
from firmware_bridge.protocols.sml_messages import read_messages
from gateway.process.declarations.serial_line import Line

# Meters send 200 to 700 bytes. The number of entries in a file has no limit of its own.
FILE_BYTES_MAX = 4096

_ESCAPE = b"\x1b" * 4
_START = _ESCAPE + b"\x01" * 4
_END = 0x1A
_END_BYTES = 8
_FILL_MAX = 3


@dataclass(frozen=True, kw_only=True)
class Sml(DecoderSettings):
    """Settings for meters that send SML files unprompted."""

    data_bits: ClassVar = (8,)
    is_binary: ClassVar = True
    default_line: ClassVar = Line(9600)

    @property
    def frames_enough(self) -> int:
        """Number of SML files needed to identify the protocol: 1, because each has a 16-bit CRC."""
        return 1

    def decoder(self) -> "SmlDecoder":
        """Create a decoder for one serial line."""
        return SmlDecoder()


class SmlDecoder(ScanningDecoder):
    """Decoder of SML files.

    If a new file begins before the previous file has ended, the previous file counts as damaged.
    The new file is still decoded.
    """

    frame_bytes_max = FILE_BYTES_MAX

    def __init__(self) -> None:
        super().__init__(_START)

    def end_of(self, buffer: bytes, position: int) -> int | None:
        """Return the position after the SML file that begins at `position`.

        Return None if more bytes are needed.

        Raises:
            Damaged: with reason "truncated" if another file begins before the end of this one,
                "escape" if an escape sequence is invalid, or "overlong" if the file is too long.
        """
        limit = position + FILE_BYTES_MAX
        again = buffer.find(_START, position + len(_START), limit)
        at = position + len(_START)
        while (at := buffer.find(_ESCAPE, at, again if again >= 0 else limit)) >= 0:
            if (at - position) % 4:
                at += 1  # The last bytes before an escape may also be 1B.
                continue
            if len(buffer) < at + _END_BYTES:
                return None
            if buffer[at + 4] == _END:
                return at + _END_BYTES
            if buffer[at + 4 : at + 8] != _ESCAPE:
                if len(buffer) < at + len(_ESCAPE) + len(_START):
                    return None  # The next file's beginning may overlap with this escape.
                raise Damaged("escape")
            at += 8
            if 0 <= again < at:  # This start belongs to the escaped bytes of a value.
                again = buffer.find(_START, at, limit)
        if again >= 0:
            raise Damaged("truncated")
        if len(buffer) >= limit:
            raise Damaged("overlong")
        return None

    def read_frame(self, data: bytes) -> Frame | None:
        """Check the CRC of an SML file, and decode its messages. Return None if it has no values.

        Raises:
            Damaged: with reason "checksum" if the CRC is wrong, "fill" if the number of fill bytes
                is invalid, or with a reason that `read_messages` gives.
        """
        fill = data[-3]
        found = int.from_bytes(data[-2:], "little")
        if found not in (crc16_x25(data[:-2]), crc16_kermit(data[:-2])):
            raise Damaged("checksum")
        if fill > _FILL_MAX:
            raise Damaged("fill")
        messages = data[len(_START) : len(data) - _END_BYTES - fill]
        quantities = read_messages(_unescaped(messages), self.tally.skipped)
        if changed := self.kinds.keep(quantities):
            self.tally.skipped[TYPE] += changed
        return Frame(quantities) if quantities else None


def _unescaped(messages: bytes) -> bytes:
    """Return the messages of an SML file, with each doubled escape sequence reduced to one."""
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
