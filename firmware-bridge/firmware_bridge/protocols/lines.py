"""Lines of text: ended by LF, CR or CR LF, at most `LINE_BYTES_MAX` bytes, UTF-8."""

import re
from collections import Counter
from collections.abc import Callable

from firmware_bridge.protocols.delimited import DelimitedDecoder
from firmware_bridge.protocols.frame import Damaged, Frame
from firmware_bridge.readings.kinds import Kinds
from firmware_bridge.readings.measurement import Measurement

# A sensor's line is tens of bytes; 4 KiB leaves room for JSON with many quantities. This is the
# only bound of a line: how many quantities it has follows from its bytes.
LINE_BYTES_MAX = 4096

_LINE_END = re.compile(rb"[\r\n]")
# ESP-IDF and ESPHome print their logs in colours.
_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
_BYTE_ORDER_MARK = "\ufeff"
"""Some programs begin UTF-8 with it. It is no part of the text."""

Parse = Callable[[str, "Counter[str]"], dict[str, Measurement]]
"""Reads a line. It counts what it leaves out, by reason, and raises `Damaged`."""


class LineDecoder(DelimitedDecoder):
    """Cuts a stream into lines and gives each to `parse`.

    `keeps_other_bytes`: bytes that are no UTF-8 become half surrogate pairs, for a form in which
    they cost one value and not the line. `kinds` are those that `parse` notes.
    """

    def __init__(
        self,
        parse: Parse,
        *,
        can_mistake_part_of_line: bool,
        keeps_other_bytes: bool = False,
        kinds: Kinds | None = None,
    ) -> None:
        super().__init__(_LINE_END, LINE_BYTES_MAX)
        self.kinds = kinds or self.kinds
        self._parse = parse
        self._can_mistake_part_of_line = can_mistake_part_of_line
        self._errors = "surrogateescape" if keeps_other_bytes else "strict"

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
            text = _COLOUR.sub(b"", data).decode("utf-8", self._errors)
        except UnicodeDecodeError as error:
            raise Damaged("utf8") from error
        text = text.removeprefix(_BYTE_ORDER_MARK).strip()
        return self.frame_of(text) if text else None

    def frame_of(self, text: str) -> Frame | None:
        """Create a frame from the measurements of one line; None: it has none."""
        left_out: Counter[str] = Counter()
        measurements = self._parse(text, left_out)
        self.tally.left_out.update(left_out)
        if not measurements:
            return None
        return Frame({name: [found] for name, found in measurements.items()})
