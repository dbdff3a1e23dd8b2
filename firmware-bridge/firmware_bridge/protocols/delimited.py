"""Base class for decoders of frames that are separated by delimiters.

Bytes can arrive in pieces of any size. A frame that exceeds the maximum length is counted once, as
`overlong`, and skipped up to its end. Decoding continues with the next frame.
"""

import re
from abc import abstractmethod

from firmware_bridge.protocols.frame import Damaged, Frame
from firmware_bridge.protocols.interface import Decoder


class DelimitedDecoder(Decoder):
    """Decoder that splits a stream at `delimiter`, and decodes each piece with `read_frame`.

    Empty pieces are ignored.
    """

    def __init__(self, delimiter: re.Pattern[bytes], frame_bytes_max: int) -> None:
        super().__init__()
        self._delimiter = delimiter
        self._frame_bytes_max = self.frame_bytes_max = frame_bytes_max
        self._part = bytearray()
        self._skipping = False

    def begin(self, *, mid_line: bool) -> None:
        """Discard a frame that was incomplete when the port was closed."""
        self._part.clear()
        self._skipping = False

    def feed(self, data: bytes) -> list[Frame]:
        """Process received bytes. Return the frames that these bytes complete, in order."""
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
        """Decode the bytes between two delimiters.

        Return None if the bytes are valid but contain no reading.

        Raises:
            Damaged: if the bytes are not a frame of this protocol.
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
