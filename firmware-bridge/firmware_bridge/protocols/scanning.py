"""Base class for decoders of frames that begin with fixed bytes.

Bytes may arrive in pieces of any size. If bytes turn out not to be a frame, only the first byte is
skipped, so a false start in noise never hides the next frame. Each invalid frame is counted once.
All bytes between two frames count as one occurrence of `noise`.
"""

from abc import abstractmethod
from typing import ClassVar

from firmware_bridge.protocols.frame import Damaged, Frame
from firmware_bridge.protocols.interface import Decoder


class ScanningDecoder(Decoder):
    """Decoder that searches a stream for frames that begin with `start`.

    The buffer contains at most one incomplete frame and the bytes of the latest read.
    """

    fillers: ClassVar[bytes] = b""
    """Bytes that may occur between frames and do not count as noise."""

    def __init__(self, start: bytes) -> None:
        super().__init__()
        self._start = start
        self._buffer = b""
        # Positions count from the beginning of the buffer.
        self._counted_up_to = 0
        self._in_noise = False

    def begin(self, *, mid_line: bool) -> None:
        """Discard bytes that were buffered when the port was closed.

        If the port is opened in the middle of a frame, the bytes up to the next start are skipped
        and do not count as noise.
        """
        if self._buffer:
            self._count("truncated", len(self._buffer))
        self._buffer = b""
        self._counted_up_to = 0
        self._in_noise = mid_line

    def feed(self, data: bytes) -> list[Frame]:
        """Process received bytes. Return the frames that are now complete, in order."""
        self._buffer += data
        return self._scan(idle=False)

    def flush(self) -> list[Frame]:
        """Return the complete frames in the buffer. Called after a pause on the line.

        After a pause, the rest of an incomplete frame is no longer expected. However, the bytes of
        this frame may contain shorter frames.
        """
        return self._scan(idle=True) if self._buffer else []

    def find_start(self, buffer: bytes, position: int) -> int:
        """Return the first position where a frame could begin, or -1 if there is none.

        The search begins at `position`.
        """
        return buffer.find(self._start, position)

    @abstractmethod
    def end_of(self, buffer: bytes, position: int) -> int | None:
        """Return the position after the frame that begins at `position`.

        Return None if more bytes are needed. If a header contains the length of the frame, the
        result can be beyond the buffered bytes. If no frame begins at `position` after all, return
        `position`. The bytes then count as noise instead of damage.

        Raises:
            Damaged: if the frame at `position` is damaged.
        """

    @abstractmethod
    def read_frame(self, data: bytes) -> Frame | None:
        """Decode a complete frame. Return None if the frame is valid but contains no reading.

        Raises:
            Damaged: if the bytes are not a frame of this protocol.
        """

    def _scan(self, *, idle: bool) -> list[Frame]:
        frames: list[Frame] = []
        buffer, position = self._buffer, 0
        while (found := self.find_start(buffer, position)) >= 0:
            self._skip_to(buffer[position:found])
            position = found
            end: int | None = position + len(self._start)
            try:
                end = self.end_of(buffer, position)
                if end is None or end > len(buffer):
                    if not idle:
                        break  # More bytes are needed to decide about this position.
                    end = len(buffer)
                    raise Damaged("truncated")
                if end == position:
                    self._skip_to(buffer[position : position + 1])
                    position += 1
                    continue
                frame = self.read_frame(buffer[position:end])
            except Damaged as damage:
                if position >= self._counted_up_to:
                    self._count(damage.reason, end or position)
                position += 1
                continue
            if frame is not None:
                frames.append(frame)
            position, self._in_noise = end, False
        else:
            rest = 0 if idle else _bytes_of_start(buffer[position:], self._start)
            self._skip_to(buffer[position : len(buffer) - rest])
            position = len(buffer) - rest
        self._buffer = buffer[position:]
        self._counted_up_to = max(0, self._counted_up_to - position)
        return frames

    def _skip_to(self, data: bytes) -> None:
        if data.strip(self.fillers) and not self._in_noise:
            self.tally.foreign["noise"] += 1
            self._in_noise = True

    def _count(self, reason: str, up_to: int) -> None:
        self.tally.damaged[reason] += 1
        self._counted_up_to = up_to
        # The rest of the damaged bytes must not be counted again as noise.
        self._in_noise = True


def _bytes_of_start(data: bytes, start: bytes) -> int:
    """Return how many bytes at the end of `data` could be the first bytes of `start`."""
    for count in range(min(len(start) - 1, len(data)), 0, -1):
        if data.endswith(start[:count]):
            return count
    return 0
