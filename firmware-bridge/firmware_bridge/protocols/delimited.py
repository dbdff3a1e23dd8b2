"""Frames between delimiters, out of bytes that come in any pieces.

A frame of more than the bound is counted once, as `overlong`, and skipped up to its end; the next
frame is read again.
"""

import re
from abc import abstractmethod

from firmware_bridge.protocols.frame import Damaged, Frame
from firmware_bridge.protocols.interface import Decoder


class DelimitedDecoder(Decoder):
    """Cuts a stream at `delimiter` and gives each piece that is not empty to `read_frame`."""

    def __init__(self, delimiter: re.Pattern[bytes], frame_bytes_max: int) -> None:
        super().__init__()
        self._delimiter = delimiter
        self._frame_bytes_max = self.frame_bytes_max = frame_bytes_max
        self._part = bytearray()
        self._skipping = False

    def begin(self, *, mid_line: bool) -> None:
        """Forget the part of a frame that came before the port was opened."""
        self._part.clear()
        self._skipping = False

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that these bytes complete, in order."""
        frames: list[Frame] = []
        pieces = self._delimiter.split(data)
        for piece in pieces[:-1]:
            self._take(piece)
            if self._part:
                self._read(bytes(self._part), frames)
            self._part.clear()
            self._skipping = False
        self._take(pieces[-1])
        return frames

    @abstractmethod
    def read_frame(self, data: bytes) -> Frame | None:
        """Decode the bytes between two delimiters; None: no reading, and no damage.

        Raises:
            Damaged: it is no frame of this protocol.
        """

    def _take(self, piece: bytes) -> None:
        if self._skipping:
            return
        if len(self._part) + len(piece) > self._frame_bytes_max:
            self.tally.damaged["overlong"] += 1
            self._part.clear()
            self._skipping = True
            return
        self._part += piece

    def _read(self, data: bytes, frames: list[Frame]) -> None:
        try:
            frame = self.read_frame(data)
        except Damaged as damage:
            self.tally.damaged[damage.reason] += 1
        else:
            if frame is not None:
                frames.append(frame)
