"""Frames that begin with fixed bytes, out of bytes that come in any pieces.

What turns out to be no frame is passed over by its first byte alone, so that a beginning which
noise resembles never costs the next frame. Damage is counted once for the bytes that such a
frame would have had, and bytes between frames once for each stretch of them, as `noise`.
"""

from abc import abstractmethod
from typing import ClassVar

from firmware_bridge.protocols.frame import Damaged, Frame
from firmware_bridge.protocols.interface import Decoder


class ScanningDecoder(Decoder):
    """Looks for `start` and keeps at most the bytes of one frame and of one read."""

    fillers: ClassVar[bytes] = b""
    """Bytes that may occur between frames and are no noise."""

    def __init__(self, start: bytes) -> None:
        super().__init__()
        self._start = start
        self._buffer = b""
        # Positions count from the beginning of the buffer.
        self._counted_up_to = 0
        self._in_noise = False

    def begin(self, *, mid_line: bool) -> None:
        """Forget what came before; what opening the port has cut has no beginning."""
        if self._buffer:
            self._count("truncated", len(self._buffer))
        self._buffer = b""
        self._counted_up_to = 0
        self._in_noise = mid_line

    def feed(self, data: bytes) -> list[Frame]:
        """Return the frames that these bytes complete, in order."""
        self._buffer += data
        return self._scan(idle=False)

    def flush(self) -> list[Frame]:
        """Find frames after bytes that looked like the beginning of a longer one."""
        return self._scan(idle=True) if self._buffer else []

    def find_start(self, buffer: bytes, position: int) -> int:
        """Return where a frame may begin, from `position` on; -1: nowhere."""
        return buffer.find(self._start, position)

    @abstractmethod
    def end_of(self, buffer: bytes, position: int) -> int | None:
        """Return the end of the frame that begins at `position`; None: more bytes are needed.

        The end may be beyond the buffer, by less than the longest frame. It is `position` itself
        where no frame begins, which is noise and no damage.

        Raises:
            Damaged: what begins there is no whole frame.
        """

    @abstractmethod
    def read_frame(self, data: bytes) -> Frame | None:
        """Decode a whole frame; None: no reading, and no damage.

        Raises:
            Damaged: it is no frame of this protocol.
        """

    def _scan(self, *, idle: bool) -> list[Frame]:
        frames: list[Frame] = []
        buffer, position = self._buffer, 0
        while (found := self.find_start(buffer, position)) >= 0:
            self._pass_over(buffer[position:found])
            position = found
            end: int | None = position + len(self._start)
            try:
                end = self.end_of(buffer, position)
                if end is None or end > len(buffer):
                    if not idle:
                        break  # More bytes must come before this place can be judged.
                    end = len(buffer)
                    raise Damaged("truncated")
                if end == position:
                    self._pass_over(buffer[position : position + 1])
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
            self._pass_over(buffer[position : len(buffer) - rest])
            position = len(buffer) - rest
        self._buffer = buffer[position:]
        self._counted_up_to = max(0, self._counted_up_to - position)
        return frames

    def _pass_over(self, data: bytes) -> None:
        if data.strip(self.fillers) and not self._in_noise:
            self.tally.foreign["noise"] += 1
            self._in_noise = True

    def _count(self, reason: str, up_to: int) -> None:
        self.tally.damaged[reason] += 1
        self._counted_up_to = up_to
        # The rest of the bytes belongs to it.
        self._in_noise = True


def _bytes_of_start(data: bytes, start: bytes) -> int:
    """Return how many bytes at the end of `data` may be the first ones of `start`."""
    for count in range(min(len(start) - 1, len(data)), 0, -1):
        if data.endswith(start[:count]):
            return count
    return 0
