"""Protocol of smart meters' P1 port (DSMR 2.2 to 5, ESMR, eMUCS): telegrams of text lines::

    /XXX5identification CR LF
    CR LF
    1-0:1.8.1(000004.426*kWh) CR LF        OBIS code, value, unit
    0-1:24.2.1(170102161005W)(00000.107*m3) CR LF
    !6EEE CR LF                            CRC-16/ARC of everything from '/' to '!', from DSMR 4 on

If the checksum is wrong, the whole telegram counts as damaged. If the checksum is right but an
object is unreadable, only this object is skipped. Some IEC 62056-21 meters that send unprompted put
the objects between STX and ETX, and add a BCC after ETX. The BCC is the XOR of all bytes after STX
up to and including ETX.
"""

import re
from dataclasses import dataclass
from typing import Annotated, ClassVar

from firmware_bridge.protocols.checksums import PARITY, SEVEN_BITS, crc16_arc, xor8
from firmware_bridge.protocols.dlms_security import (
    KEY_DESCRIPTIONS,
    MeterKeys,
    ciphered_bytes,
    decrypted,
)
from firmware_bridge.protocols.dsmr_telegram import is_mixture, read_telegram
from firmware_bridge.protocols.frame import TYPE, Damaged, Frame
from firmware_bridge.protocols.scanning import ScanningDecoder
from gateway.process.declarations.quantities import Whole

# Telegrams have 1 to 4 KiB; text messages and logs of power failures may add some. The number of
# objects has no limit of its own: Lithuanian meters send 96.
TELEGRAM_BYTES_MAX = 8192

# After the '/' come three letters of the manufacturer and a digit for the baud rate.
_START = b"/"
_HEAD = re.compile(rb"/[A-Za-z]{3}[0-9]")
# The head of a telegram inside another one must be a whole line, because a string in parentheses
# may resemble a head.
_NEXT_HEAD = re.compile(_HEAD.pattern + rb"[^()\r\n]*[\r\n]")
_HEAD_BYTES = 5
# The system title, a length, and the security byte follow. The length has 1 byte below 128, or 81
# or 82 and 1 or 2 bytes.
_CIPHERED_START, _CIPHERED_HEAD_BYTES = b"\xdb\x08", 14
_CIPHERED_LENGTH_AT, _LENGTH_BYTES = 10, {b"\x81": 2, b"\x82": 3}
_SECURITY = (b"", b"\x20", b"\x30")
# The second byte of a ciphered start may not have arrived yet.
_ANY_START = re.compile(rb"[/\xaf]|\xdb(?:\x08|\Z)")
# '/' with even parity, as a line of 7E1 sends it. The port then has 8 data bits by mistake.
_START_WITH_PARITY = b"\xaf"
_STX, _ETX = b"\x02", b"\x03"
_BCC_BYTES = 2
_CRC, _NO_CRC = re.compile(rb"[0-9A-Fa-f]{4}"), b"0000"
# The end of the line may be missing after a CRC.
_END = re.compile(rb"[\r\n]!(?:[0-9A-Fa-f]{4}|[ \t]*[\r\n])")


@dataclass(frozen=True, kw_only=True)
class Dsmr(MeterKeys):
    """Settings for smart meters that send telegrams from their P1 port."""

    descriptions: ClassVar = {
        "crc": "Expect a CRC at the end of each telegram. Telegrams before DSMR 4 have none.",
        "utc_offset": "Offset of the meter's winter time from UTC, in hours.",
        **KEY_DESCRIPTIONS,
    }

    crc: bool = True
    utc_offset: Annotated[int, Whole(-12, 14)] = 1

    @property
    def is_binary(self) -> bool:
        """True for encrypted telegrams, which may contain any byte."""
        return self.key_file is not None

    @property
    def allowed_data_bits(self) -> tuple[int, ...]:
        """8 for encrypted telegrams. A line of 7 bits would cut each of their bytes."""
        return (8,) if self.is_binary else self.data_bits

    @property
    def frames_enough(self) -> int:
        """The number of telegrams needed to identify the protocol.

        One telegram with a 16-bit CRC is enough. Without a CRC, two are needed.
        """
        return 1 if self.crc else 2

    def decoder(self) -> "DsmrDecoder | EncryptedDecoder":
        """Create a decoder for one serial line."""
        return DsmrDecoder(self) if self.key_file is None else EncryptedDecoder(self)


class DsmrDecoder(ScanningDecoder):
    """Decoder of unencrypted telegrams.

    A telegram counts as damaged if it has no end, or if another telegram begins before its end.
    Encrypted messages count as damaged with reason "encrypted". This shows the operator that a key
    is missing.
    """

    fillers: ClassVar = b"\r\n\0 \t"
    frame_bytes_max = TELEGRAM_BYTES_MAX

    def __init__(self, settings: Dsmr) -> None:
        super().__init__(_START)
        self._settings = settings

    def find_start(self, buffer: bytes, position: int) -> int:
        """Return the next position at which a telegram or an encrypted message could begin.

        The search begins at `position`. Return -1 if there is no such position.
        """
        found = _ANY_START.search(buffer, position)
        return found.start() if found else -1

    def end_of(self, buffer: bytes, position: int) -> int | None:
        """Return the position after the telegram or encrypted message that begins at `position`.

        Return None if more bytes are needed, or `position` if neither begins there.

        Raises:
            Damaged: with reason "truncated" if another telegram begins before the end of this one,
                "overlong" if it is too long, or "parity" if its characters have a parity bit.
        """
        head = buffer[position : position + _HEAD_BYTES]
        if head.startswith(_START_WITH_PARITY):
            return _end_of_parity(head, position)
        if not head.startswith(_START):
            return _end_of_ciphered(buffer, position)
        if len(head) < _HEAD_BYTES and (len(head) == 1 or head[1:].isalpha()):
            return None
        if not _HEAD.match(head):
            return position
        limit = position + TELEGRAM_BYTES_MAX
        again = _NEXT_HEAD.search(buffer, position + _HEAD_BYTES, limit)
        end = _END.search(buffer, position, again.start() if again else limit)
        if end is not None:
            return _end_with_bcc(buffer, position, end.end())
        if again is not None:
            raise Damaged("truncated")
        if len(buffer) >= limit:
            raise Damaged("overlong")
        return None

    def read_frame(self, data: bytes) -> Frame | None:
        """Check a telegram's BCC and CRC, if it has them, and parse the telegram.

        Raises:
            Damaged: with reason "checksum" if the BCC or the CRC is wrong, "no_checksum" if a
                required CRC is missing, "encrypted" if the message is encrypted, or "truncated" if
                the telegram consists of parts of two telegrams.
        """
        if not data.startswith(_START):
            raise Damaged("encrypted")
        telegram = _without_bcc(data)
        has_bcc = len(telegram) < len(data)
        head, _, crc = telegram.rstrip().rpartition(b"!")
        if crc == _NO_CRC and not self._settings.crc:
            crc = b""  # Some AM550 in Slovenia always send this.
        if self._settings.crc and not crc:
            raise Damaged("no_checksum")
        if crc and (not _CRC.fullmatch(crc) or crc16_arc(head + b"!") != int(crc, 16)):
            raise Damaged("checksum")
        quantities = read_telegram(head, self._settings.utc_offset, self.tally.skipped)
        if not (crc or has_bcc) and is_mixture(quantities):
            raise Damaged("truncated")
        if changed := self.kinds.keep(quantities):
            self.tally.skipped[TYPE] += changed
        return Frame(quantities) if quantities else None


class EncryptedDecoder(ScanningDecoder):
    """Decoder of telegrams in encrypted messages, which meters in Luxembourg send."""

    def __init__(self, settings: Dsmr) -> None:
        super().__init__(_CIPHERED_START)
        self._settings = settings
        self._telegrams = DsmrDecoder(settings)
        self._telegrams.tally, self._telegrams.kinds = self.tally, self.kinds

    def end_of(self, buffer: bytes, position: int) -> int | None:
        """Return the position after the encrypted message that begins at `position`.

        Return None if more bytes are needed, or `position` if no message begins there.

        Raises:
            Damaged: with reason "overlong" if the message is too long.
        """
        return _end_of_ciphered(buffer, position)

    def read_frame(self, data: bytes) -> Frame | None:
        """Decrypt a message and parse the telegram in it.

        Raises:
            Damaged: with reason "key" if the key is wrong, or with a reason that `decrypted` or
                `DsmrDecoder.read_frame` gives.
        """
        settings = self._settings
        telegram = decrypted(data, settings.key, settings.authentication_key)
        telegram = telegram.strip(DsmrDecoder.fillers)
        if not telegram.startswith(_START):
            raise Damaged("key")
        return self._telegrams.read_frame(telegram)


def _end_of_parity(head: bytes, position: int) -> int | None:
    """Return None if `head` is too short to tell, or `position` if it is not that of a telegram.

    Raises:
        Damaged: with reason "parity" if it is the head of a telegram with parity bits.
    """
    if len(head) < _HEAD_BYTES:
        return None
    if _HEAD.match(head.translate(SEVEN_BITS)):
        raise Damaged(PARITY)
    return position


def _end_of_ciphered(buffer: bytes, position: int) -> int | None:
    """Return the position after the encrypted message that begins at `position`.

    Return None if more bytes are needed, or `position` if no encrypted message begins there.

    Raises:
        Damaged: with reason "overlong" if the message has more than `TELEGRAM_BYTES_MAX` bytes.
    """
    head = buffer[position : position + _CIPHERED_HEAD_BYTES]
    length = head[_CIPHERED_LENGTH_AT : _CIPHERED_LENGTH_AT + 1]
    security_at = _CIPHERED_LENGTH_AT + _LENGTH_BYTES.get(length, 1)
    is_length = length < b"\x80" or length in _LENGTH_BYTES
    if not (
        is_length
        and head.startswith(_CIPHERED_START[: len(head)])
        and head[security_at : security_at + 1] in _SECURITY
    ):
        return position
    size = ciphered_bytes(head)
    if size is not None and size > TELEGRAM_BYTES_MAX:
        raise Damaged("overlong")
    return None if size is None else position + size


def _end_with_bcc(buffer: bytes, position: int, end: int) -> int | None:
    """Return the position after a telegram, and after its ETX and BCC if it has them.

    `end` is the position after the telegram's last line. Return None if more bytes are needed.
    """
    if _STX not in buffer[position:end]:
        return end
    while buffer[end : end + 1] in (b"\r", b"\n"):
        end += 1
    if end == len(buffer):
        return None
    return end + _BCC_BYTES if buffer[end : end + 1] == _ETX else end


def _without_bcc(data: bytes) -> bytes:
    """Check the BCC of a telegram, and return the telegram without the BCC.

    Only telegrams with STX and ETX have a BCC. All others are returned unchanged.

    Raises:
        Damaged: with reason "checksum" if the BCC is wrong.
    """
    if data[-_BCC_BYTES:-1] != _ETX or _STX not in data:
        return data
    if xor8(data[data.index(_STX) + 1 : -1]) != data[-1]:
        raise Damaged("checksum")
    return data[:-_BCC_BYTES]
