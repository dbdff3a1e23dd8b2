"""Lines of text: ended by LF, CR or CR LF, at most `LINE_BYTES_MAX` bytes, UTF-8.

An overlong line is counted once and skipped up to its end; the next line is read again.
"""

import re
from collections.abc import Callable

from firmware_bridge.protocols.frame import Damaged, Frame
from firmware_bridge.protocols.interface import Decoder
from firmware_bridge.readings.measurement import Measurement

# A sensor's line is tens of bytes; 4 KiB leaves room for JSON with many quantities.
LINE_BYTES_MAX = 4096

_LINE_END = re.compile(rb"[\r\n]")


class LineDecoder(Decoder):
    """Cuts a stream into lines and gives each to `parse`, which raises `Damaged`."""

    def __init__(
        self, parse: Callable[[str], dict[str, Measurement]], *, can_mistake_part_of_line: bool
    ) -> None:
        super().__init__()
        self._parse = parse
        self._can_mistake_part_of_line = can_mistake_part_of_line
        self._part = bytearray()
        self._skipping = False

    def begin(self, *, mid_line: bool) -> None:
        """Forget the part of a line that came before, and count it as truncated."""
        if self._part:
            self.tally.damaged["truncated"] += 1
        self._part.clear()
        # "21.5" cut to "1.5" is a good line with a wrong value: nothing in it shows that.
        self._skipping = mid_line and self._can_mistake_part_of_line
        if self._skipping:
            self.tally.damaged["truncated"] += 1

    def feed(self, data: bytes) -> list[Frame]:
        """The frames of the lines that these bytes complete, in order."""
        frames: list[Frame] = []
        pieces = _LINE_END.split(data)
        for piece in pieces[:-1]:
            self._take(piece)
            if not self._skipping and self._part:
                self._read_line(bytes(self._part), frames)
            self._part.clear()
            self._skipping = False
        self._take(pieces[-1])
        return frames

    def _take(self, piece: bytes) -> None:
        if self._skipping:
            return
        if len(self._part) + len(piece) > LINE_BYTES_MAX:
            self.tally.damaged["overlong"] += 1
            self._part.clear()
            self._skipping = True
            return
        self._part += piece

    def _read_line(self, line: bytes, frames: list[Frame]) -> None:
        try:
            text = line.decode("utf-8").strip()
            measurements = self._parse(text) if text else {}
        except UnicodeDecodeError:
            self.tally.damaged["utf8"] += 1
        except Damaged as damage:
            self.tally.damaged[damage.reason] += 1
        else:
            if measurements:
                frames.append(Frame({name: [found] for name, found in measurements.items()}))
