"""Protocol of Oncegate's sensor boards. Any number of boards can share one serial line.

A board numbers its frames, and repeats a frame until the bridge acknowledges it. `board_frame.py`
describes the contents of a frame.
"""

import re
from dataclasses import dataclass
from typing import ClassVar

from firmware_bridge.protocols.delimited import DelimitedDecoder
from firmware_bridge.protocols.frame import Frame
from firmware_bridge.protocols.interface import DecoderSettings
from firmware_bridge.readings.numbering import BOARD_DEVICE_PREFIX

# Maximum bytes of a stuffed frame without its delimiters. A small board can hold two such frames in
# RAM.
FRAME_BYTES_MAX = 1024

_DELIMITER = re.compile(rb"\x00")


@dataclass(frozen=True, kw_only=True)
class Board(DecoderSettings):
    """Settings for serial lines with Oncegate's sensor boards."""

    device_prefix: ClassVar = BOARD_DEVICE_PREFIX
    data_bits: ClassVar = (8,)
    is_binary: ClassVar = True
    can_wait: ClassVar = True

    def decoder(self) -> "BoardDecoder":
        """Create a decoder for one serial line."""
        return BoardDecoder()


class BoardDecoder(DelimitedDecoder):
    """Decoder of board frames.

    A decoded frame has an `identity`: the number of the board, its boot number, and a sequence
    number. A frame of readings also contains the acknowledgement to send back.

    If the port is opened in the middle of a frame, the received part of this frame fails the CRC
    check and is discarded. The next frame is not affected.
    """

    def __init__(self) -> None:
        from firmware_bridge.protocols.board_frame import read_frame  # noqa: PLC0415 - libraries

        super().__init__(_DELIMITER, FRAME_BYTES_MAX)
        self._read_stuffed = read_frame

    def read_frame(self, data: bytes) -> Frame:
        """Decode a frame. `data` is the COBS-stuffed frame without its delimiters."""
        return self._read_stuffed(data)
