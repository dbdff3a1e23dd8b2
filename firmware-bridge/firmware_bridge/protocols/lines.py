"""Lines of text: ended by LF, CR or CR LF, at most `LINE_BYTES_MAX` bytes, UTF-8."""

import re
from collections.abc import Callable

from firmware_bridge.protocols.delimited import DelimitedDecoder
from firmware_bridge.protocols.frame import Damaged, Frame
from firmware_bridge.readings.measurement import Measurement

# A sensor's line is tens of bytes; 4 KiB leaves room for JSON with many quantities.
LINE_BYTES_MAX = 4096

_LINE_END = re.compile(rb"[\r\n]")


class LineDecoder(DelimitedDecoder):
    """Cuts a stream into lines and gives each to `parse`, which raises `Damaged`."""

    def __init__(
        self, parse: Callable[[str], dict[str, Measurement]], *, can_mistake_part_of_line: bool
    ) -> None:
        super().__init__(_LINE_END, LINE_BYTES_MAX)
        self._parse = parse
        self._can_mistake_part_of_line = can_mistake_part_of_line

    def begin(self, *, mid_line: bool) -> None:
        """Forget the part of a line that came before, and count it as truncated."""
        if self._part:
            self.tally.damaged["truncated"] += 1
        super().begin(mid_line=mid_line)
        # "21.5" cut to "1.5" is a good line with a wrong value: nothing in it shows that.
        self._skipping = mid_line and self._can_mistake_part_of_line
        if self._skipping:
            self.tally.damaged["truncated"] += 1

    def read_frame(self, data: bytes) -> Frame | None:
        """Read the measurements of one line; None: a line without any."""
        try:
            text = data.decode("utf-8").strip()
        except UnicodeDecodeError as error:
            raise Damaged("utf8") from error
        return self.frame_of(text) if text else None

    def frame_of(self, text: str) -> Frame | None:
        """Make a frame of the measurements of one line; None: it has none."""
        measurements = self._parse(text)
        if not measurements:
            return None
        return Frame({name: [found] for name, found in measurements.items()})
