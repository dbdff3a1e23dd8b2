"""The DLMS/COSEM protocol, in which meters push data from a HAN port (Nordic, Austrian and others).

HDLC or M-Bus frames (`dlms_link`) carry parts of a message. A message may also be split into blocks
(general-block-transfer). The complete message is a notification, which may be encrypted::

    0F | invocation u32 | time | data
    DB | ... a ciphered message (`dlms_security`) that contains a notification
"""

import re
from dataclasses import dataclass
from typing import ClassVar, Final

from firmware_bridge.protocols.dlms_data import Data, data_at
from firmware_bridge.protocols.dlms_link import FRAME_BYTES_MAX, LLC, Part, end_of_frame, part_of
from firmware_bridge.protocols.dlms_security import (
    CIPHERED,
    KEY_DESCRIPTIONS,
    MeterKeys,
    decrypted,
    length_at,
)
from firmware_bridge.protocols.dlms_values import read_values
from firmware_bridge.protocols.frame import TYPE, Damaged, Frame
from firmware_bridge.protocols.scanning import ScanningDecoder
from gateway.process.declarations.serial_line import Line

MESSAGE_BYTES_MAX: Final = 8192
"""Maximum bytes in all parts of one message. Meters send 100 to 800."""
_NOTIFICATION, _BLOCK = 0x0F, 0xE0
_OTHER_CIPHERING: Final = (b"\xdc", b"\xdd")
"""First bytes of general-ded-ciphering and general-ciphering, which are not supported."""
_INVOCATION_BYTES = 5
_LAST_BLOCK = 0x80
_BLOCK_HEAD_BYTES = 6
_OCTETS = 9
_START = re.compile(rb"[\x7e\x68]")


@dataclass(frozen=True, kw_only=True)
class Dlms(MeterKeys):
    """Settings for meters that push DLMS messages from their HAN port."""

    data_bits: ClassVar = (8,)
    is_binary: ClassVar = True
    default_line: ClassVar = Line(2400, 8, "E", 1)
    descriptions: ClassVar = KEY_DESCRIPTIONS

    @property
    def frames_enough(self) -> int:
        """The number of frames needed to identify the protocol.

        One frame is enough, because it has a 16-bit CRC.
        """
        return 1

    def decoder(self) -> "DlmsDecoder":
        """Create a decoder for one serial line."""
        return DlmsDecoder(self)


class DlmsDecoder(ScanningDecoder):
    """Decoder of DLMS messages.

    If a part of a message is missing, the message counts as damaged. The next message is not
    affected.
    """

    fillers: ClassVar = b"\x7e"
    frame_bytes_max = MESSAGE_BYTES_MAX

    def __init__(self, settings: Dlms) -> None:
        super().__init__(b"\x7e")
        self._settings = settings
        self._message = b""
        self._blocks = b""
        self._block_number = 0

    def begin(self, *, mid_line: bool) -> None:
        """Discard frames and messages that were incomplete when the port was closed."""
        self._drop_flags()
        if self._message or self._blocks:
            self.tally.damaged["truncated"] += 1
        self._message = self._blocks = b""
        super().begin(mid_line=mid_line)

    def flush(self) -> list[Frame]:
        """Return the complete frames in the buffer. Called after a pause on the line.

        After a pause, the rest of an incomplete frame is no longer expected. However, the bytes of
        this frame may contain shorter frames. If only flag bytes (0x7E) are buffered, they are
        discarded.
        """
        self._drop_flags()
        return super().flush()

    def _drop_flags(self) -> None:
        if not self._buffer.strip(self.fillers):
            self._buffer = b""

    def find_start(self, buffer: bytes, position: int) -> int:
        """Return the next position at which an HDLC or M-Bus frame might begin.

        Return -1 if no such position exists.
        """
        found = _START.search(buffer, position)
        return -1 if found is None else found.start()

    def end_of(self, buffer: bytes, position: int) -> int | None:
        """Return the position after the frame that begins at `position`.

        Return None if more bytes are needed, or `position` if no frame begins there.

        Raises:
            Damaged: with reason "truncated" if an HDLC frame does not end with a flag.
        """
        end = end_of_frame(buffer, position)
        assert end is None or end - position <= FRAME_BYTES_MAX, "a length has 11 bits"
        return end

    def read_frame(self, data: bytes) -> Frame | None:
        """Check a frame, and add its part of a message to the earlier parts.

        If the message is complete, decode it and return its measurements. Otherwise return None.
        """
        message = self._message_with_part(part_of(data))
        if message is None:
            return None
        if message[:1] == bytes((_BLOCK,)):
            message = self._message_with_block(message) or b""
            if not message:
                return None
        return self._frame_of(message)

    def _message_with_part(self, part: Part) -> bytes | None:
        """Add a part to the current message. Return the message if it is complete, otherwise None.

        Only the first block of a general-block-transfer has an LLC header (Landis+Gyr E450). The
        frame of any other block therefore does not indicate that it carries a first part.

        Raises:
            Damaged: with reason "truncated" if the first part is missing, or "overlong" if the
                message is too long.
        """
        if part.is_first:
            if self._message:
                self.tally.damaged["truncated"] += 1
            self._message = b""
        elif not self._message and not (self._blocks and part.data[:1] == bytes((_BLOCK,))):
            raise Damaged("truncated")
        message, self._message = self._message + part.data, b""
        if len(message) > MESSAGE_BYTES_MAX:
            raise Damaged("overlong")
        if not part.is_last:
            self._message = message
            return None
        return message

    def _message_with_block(self, block: bytes) -> bytes | None:
        """Add a block of a general-block-transfer to the blocks before it.

        If this is the last block, return the complete message. Otherwise return None.

        Raises:
            Damaged: with reason "dlms" if the block is invalid, "truncated" if a block before it is
                missing, or "overlong" if the message is too long.
        """
        found = length_at(block, _BLOCK_HEAD_BYTES)
        if found is None:
            raise Damaged("dlms")
        number = int.from_bytes(block[2:4])
        before, self._blocks = self._blocks, b""
        if number <= 1:
            self.tally.damaged.update(["truncated"] if before else [])
            before = b""
        elif not before or number != self._block_number + 1:
            raise Damaged("truncated")
        blocks = before + block[found[1] : found[1] + found[0]]
        if len(blocks) > MESSAGE_BYTES_MAX:
            raise Damaged("overlong")
        if not block[1] & _LAST_BLOCK:
            self._blocks, self._block_number = blocks, number
            return None
        return blocks

    def _frame_of(self, message: bytes) -> Frame:
        if message[:1] in _OTHER_CIPHERING:
            raise Damaged("encrypted")
        is_ciphered = message[:1] == bytes((CIPHERED,))
        if is_ciphered:
            message = decrypted(message, self._settings.key, self._settings.authentication_key)
            if message[:1] != bytes((_NOTIFICATION,)):
                raise Damaged("key")
        try:
            return self._notification_in(message)
        except Damaged as damage:
            # With one in 256 wrong keys, the first byte of the decrypted message is right.
            checked = not is_ciphered or self._settings.authentication_key is not None
            raise damage if checked or damage.reason != "dlms" else Damaged("key") from None

    def _notification_in(self, message: bytes) -> Frame:
        """Decode a notification, and those that follow it in the same message.

        Landis+Gyr E450 meters in Thurgau send one notification per minute, and three of them in one
        frame. The latest values come last.
        """
        data, end = _data_of_notification(message, 0)
        quantities = read_values(data, self.tally.skipped)
        while end < len(message) and (at := _next_notification(message, end)) is not None:
            try:
                data, end = _data_of_notification(message, at)
                found = read_values(data, self.tally.skipped)
            except Damaged as damage:
                self.tally.skipped[damage.reason] += 1
                break
            for name, measurements in found.items():
                quantities.setdefault(name, []).extend(measurements)
        if changed := self.kinds.keep(quantities):
            self.tally.skipped[TYPE] += changed
        return Frame(quantities)


def _data_of_notification(message: bytes, at: int) -> tuple[Data, int]:
    """Return the data of the notification at the position `at`, and the position after it.

    Raises:
        Damaged: with reason "dlms" if it is invalid.
    """
    if message[at : at + 1] != bytes((_NOTIFICATION,)):
        raise Damaged("dlms")
    at += _INVOCATION_BYTES
    # The time consists of octets with or without their tag. It may also be missing.
    at += message[at : at + 1] == bytes((_OCTETS,))
    found = length_at(message, at)
    if found is None:
        raise Damaged("dlms")
    return data_at(message, found[1] + found[0])


def _next_notification(message: bytes, end: int) -> int | None:
    """Return the position of the notification that begins at `end`, or None if there is none.

    An LLC header may come before it.
    """
    at = end + len(LLC[0]) if message.startswith(LLC, end) else end
    return at if message[at : at + 1] == bytes((_NOTIFICATION,)) else None
