"""The frames of Oncegate's sensor boards: any number of boards on one line.

A board numbers its frames and sends one again until its acknowledgement has come; what a frame is
made of is in `board_frame.py`.
"""

import re
from dataclasses import dataclass
from typing import ClassVar

from firmware_bridge.protocols.delimited import DelimitedDecoder
from firmware_bridge.protocols.frame import Frame
from firmware_bridge.protocols.interface import DecoderSettings
from firmware_bridge.readings.numbering import BOARD_DEVICE_PREFIX

# Stuffed bytes between two delimiters: what a small board can hold in RAM twice.
FRAME_BYTES_MAX = 1024

_DELIMITER = re.compile(rb"\x00")


@dataclass(frozen=True, kw_only=True)
class Board(DecoderSettings):
    """Frames of Oncegate's boards, numbered and acknowledged."""

    device_prefix: ClassVar = BOARD_DEVICE_PREFIX
    data_bits: ClassVar = (8,)
    can_wait: ClassVar = True

    def decoder(self) -> "BoardDecoder":
        """Create a decoder for one line."""
        return BoardDecoder()


class BoardDecoder(DelimitedDecoder):
    """Each frame has its `identity`, and the acknowledgement that goes back to its board.

    A frame that opening the port has cut fails its CRC, so that no more than it is thrown away.
    """

    def __init__(self) -> None:
        from firmware_bridge.protocols.board_frame import read_frame  # noqa: PLC0415 - libraries

        super().__init__(_DELIMITER, FRAME_BYTES_MAX)
        self._read_stuffed = read_frame

    def read_frame(self, data: bytes) -> Frame:
        """Decode stuffed bytes to a frame."""
        return self._read_stuffed(data)
