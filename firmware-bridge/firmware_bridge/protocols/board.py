"""The frames of Oncegate's sensor boards: any number of boards on one line.

A board numbers its frames and sends one again until its acknowledgement has come; what a frame is
made of is in `board_frame.py`.
"""

from dataclasses import dataclass
from typing import ClassVar

from firmware_bridge.protocols.frame import Damaged, Frame
from firmware_bridge.protocols.interface import Decoder, DecoderSettings
from firmware_bridge.readings.numbering import BOARD_DEVICE_PREFIX

# Stuffed bytes between two delimiters: what a small board can hold in RAM twice.
FRAME_BYTES_MAX = 1024


@dataclass(frozen=True, kw_only=True)
class Board(DecoderSettings):
    """Frames of Oncegate's boards, numbered and acknowledged."""

    device_prefix: ClassVar = BOARD_DEVICE_PREFIX
    data_bits: ClassVar = (8,)

    def decoder(self) -> "BoardDecoder":
        """A decoder for one line."""
        return BoardDecoder()


class BoardDecoder(Decoder):
    """Each frame has its `identity`, and the acknowledgement that goes back to its board."""

    can_wait = True

    def __init__(self) -> None:
        from firmware_bridge.protocols.board_frame import read_frame  # noqa: PLC0415 - libraries

        super().__init__()
        self._read_frame = read_frame
        self._part = bytearray()
        self._skipping = False

    def begin(self, *, mid_line: bool) -> None:
        """Forget what came before; a cut frame fails its CRC, so that no more is thrown away."""
        self._part.clear()
        self._skipping = False

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that these bytes complete, in order."""
        frames: list[Frame] = []
        pieces = data.split(b"\x00")
        for piece in pieces[:-1]:
            self._take(piece)
            if self._part:
                self._read(bytes(self._part), frames)
            self._part.clear()
            self._skipping = False
        self._take(pieces[-1])
        return frames

    def _take(self, piece: bytes) -> None:
        if self._skipping:
            return
        if len(self._part) + len(piece) > FRAME_BYTES_MAX:
            self.tally.damaged["overlong"] += 1
            self._part.clear()
            self._skipping = True
            return
        self._part += piece

    def _read(self, stuffed: bytes, frames: list[Frame]) -> None:
        try:
            frames.append(self._read_frame(stuffed))
        except Damaged as damage:
            self.tally.damaged[damage.reason] += 1
