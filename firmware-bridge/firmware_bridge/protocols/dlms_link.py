"""HDLC and M-Bus frames in which meters push DLMS messages.

A message can be split into several parts, with one part per frame. Bytes are hexadecimal::

    HDLC     7E | format (2 bytes) | destination | source | control | HCS | part | FCS | 7E
    M-Bus    68 | L | L | 68 | 53 | FF | CI | source | destination | part | checksum | 16

In HDLC, 7E is the flag at both ends of a frame. The format consists of the digit A, one bit that is
set if more parts follow, and an 11-bit length, which counts the bytes between the flags. HCS and
FCS are CRC-16/X-25 checksums. HCS covers the header, and FCS covers all bytes from the format to
the end of the part. Addresses have 1, 2 or 4 bytes. The last byte of an address is odd, and all
bytes before it are even.

In M-Bus, L is the number of bytes from 53 to the end of the part, and the checksum is the sum of
these bytes, modulo 256. The lower 4 bits of CI contain the number of the part. The bit above them
is set in the last part. The byte 16 ends the frame.
"""

import re
from typing import Final, NamedTuple

from firmware_bridge.protocols.checksums import crc16_x25
from firmware_bridge.protocols.frame import Damaged

FLAG: Final = 0x7E
MBUS_START: Final = 0x68
FRAME_BYTES_MAX: Final = 2049
"""Maximum bytes of a frame: the 11-bit HDLC length, plus two flags."""
_MBUS_STOP, _MBUS_EXTRA, _MBUS_HEAD = 0x16, 6, 5
_HDLC_TYPE = 0xA0
_ADDRESS_BYTES_MAX = 4
_CONTROL_BYTES = 3
"""Bytes of the control field and the HCS."""
LLC = (b"\xe6\xe7\x00", b"\xe6\xe6\x00")
_BEGINNING = re.compile(
    rb"\x0f.{4}(?:\x00|\x09?\x0c.{12})[\x01\x02]"
    rb"|\xdb\x08[A-Za-z]{3}.{5}(?:[\x00-\x7f]|\x81.|\x82..)[\x20\x21\x30\x31]"
    rb"|\xe0.\x00\x01\x00\x00",
    re.DOTALL,
)
"""Beginning of a message without an LLC header: a notification, a ciphered message, or the first
block of several. Some meters omit the header."""


class Part(NamedTuple):
    """The part of a DLMS message in one frame.

    `is_first` is None if the frame does not indicate whether the part is the first one.
    """

    data: bytes
    is_first: bool | None
    is_last: bool


def end_of_frame(buffer: bytes, position: int) -> int | None:
    """Return the position after the frame that begins at `position`.

    Return None if more bytes are needed, or `position` if no frame begins there.

    Raises:
        Damaged: with reason "truncated" if an HDLC frame does not end with a flag.
    """
    if buffer[position] == FLAG:
        return _end_of_hdlc(buffer, position)
    head = buffer[position : position + 4]
    if len(head) < 4:
        # The bytes received so far must be the beginning of a frame.
        return None if len(head) < 3 or head[1] == head[2] else position
    if head[1] != head[2] or head[3] != MBUS_START or head[1] < _MBUS_HEAD:
        return position
    return position + head[1] + _MBUS_EXTRA


def _end_of_hdlc(buffer: bytes, position: int) -> int | None:
    head = buffer[position + 1 : position + 3]
    if not head:
        return None
    if head[0] & 0xF0 != _HDLC_TYPE:
        return position
    if len(head) < 2:
        return None
    length = (head[0] & 7) << 8 | head[1]
    if length < 9:
        return position
    end = position + 1 + length
    if end < len(buffer) and buffer[end] != FLAG:
        raise Damaged("truncated")
    # The closing flag may also open the next frame, so it stays in the buffer.
    return end if end < len(buffer) else end + 1


def part_of(frame: bytes) -> Part:
    """Check a frame, and return the part of a message that it carries.

    Raises:
        Damaged: with reason "checksum" if the checksum is wrong, or "dlms" if an address is
            invalid.
    """
    return _part_of_hdlc(frame) if frame[0] == FLAG else _part_of_mbus(frame)


def _part_of_hdlc(frame: bytes) -> Part:
    content = frame[1:]
    if crc16_x25(content[:-2]) != int.from_bytes(content[-2:], "little"):
        raise Damaged("checksum")
    at = _after_address(content, _after_address(content, 2))
    data = content[at + _CONTROL_BYTES : -2]
    has_header = data.startswith(LLC)
    is_first = has_header or _BEGINNING.match(data) is not None
    return Part(data[3:] if has_header else data, is_first or None, not frame[1] & 8)


def _after_address(content: bytes, at: int) -> int:
    """Return the position after the HDLC address at `at`. The last byte of an address is odd.

    Raises `Damaged` with reason "dlms" if the address does not end within 4 bytes.
    """
    for end in range(at, min(at + _ADDRESS_BYTES_MAX, len(content))):
        if content[end] & 1:
            return end + 1
    raise Damaged("dlms")


def _part_of_mbus(frame: bytes) -> Part:
    content = frame[4:-2]
    if frame[-2] != sum(content) & 0xFF or frame[-1] != _MBUS_STOP:
        raise Damaged("checksum")
    number = content[2] & 0x0F
    return Part(content[_MBUS_HEAD:], number == 0, bool(content[2] & 0x10))
