"""Base class for decoders of UTF-8 text lines that end in CR or LF.

A line has at most `LINE_BYTES_MAX` bytes.
"""

import re
from collections import Counter
from collections.abc import Callable

from firmware_bridge.protocols.checksums import xor8_of_text
from firmware_bridge.protocols.delimited import DelimitedDecoder
from firmware_bridge.protocols.frame import Damaged, Frame
from firmware_bridge.readings.kinds import Kinds
from firmware_bridge.readings.measurement import Measurement

# Maximum bytes of a line. Sensors' lines have tens of bytes; 4 KiB leaves room for JSON with many
# quantities. The number of quantities in a line has no limit of its own.
LINE_BYTES_MAX = 4096

_LINE_END = re.compile(rb"[\r\n]")
# ESP-IDF and ESPHome print their logs in colours. Menus clear the screen.
_OF_TERMINAL = re.compile(rb"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|[()][0-9A-B]|[=>78c])")
_AROUND = "".join(map(chr, range(0x21))) + "\x7f"
"""Blanks, and the control characters that a board sends while it starts."""
_NO_UTF_8 = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_OF_LATIN_1 = re.compile(
    "(?<=[0-9 \\t(])[\udcb0\udcba](?=[CFK]?(?![0-9A-Za-z]))|(?<=[0-9 \\t(])\udcb5(?=[gmlsAVWS])"
    "|(?<=m)[\udcb2\udcb3](?![0-9A-Za-z])"
)
"""The signs of degree, micro, square and cubic in ISO 8859-1, as parts of units."""
_STX_TO_ETX = re.compile(r"[^\x02]*\x02([^\x02\x03]*)\x03[ \t]*([0-9A-Fa-f]{2})?[ \t]*")
"""A line between STX and ETX. Some sensors (Gill) add the XOR of the bytes between the two."""
_WRAPPED = re.compile(
    r"<([^<>]*)>|\{([^{}]*)\}|\[([^\[\]]*)\]|\(([^()]*)\)|[$#*]([^$#*]*)#", re.ASCII
)
_MARKS = frozenset("<{[($#*")
_BYTE_ORDER_MARK = "\ufeff"
"""A mark that some programs write at the beginning of UTF-8. It is not part of the text."""

Parse = Callable[[str, "Counter[str]"], dict[str, Measurement]]
"""Function that parses a line. It counts skipped values by reason in the second argument, and
raises `Damaged` if the line is invalid."""


class LineDecoder(DelimitedDecoder):
    """Decoder that splits a stream into lines, and parses each line with `parse`.

    If `keeps_other_bytes` is True, bytes that are not UTF-8 become lone surrogates. Such bytes then
    invalidate only one value instead of the whole line. `kinds` contains the data types of the
    quantities that `parse` has found. `can_mistake_part_of_line` must be True if a partial line can
    look complete. The first line is then skipped if its beginning might be missing.
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
        self._keeps_other_bytes = keeps_other_bytes

    def begin(self, *, mid_line: bool) -> None:
        """Discard a line that was incomplete when the port was closed, and count it as truncated.

        If the argument `mid_line` is True, the next line might lack its beginning. If `parse`
        cannot recognize partial lines, the next line will also be skipped and counted as truncated.
        """
        if self._part:
            self.tally.damaged["truncated"] += 1
        super().begin(mid_line=mid_line)
        # "21.5" cut to "1.5" is a valid line with a wrong value, which cannot be detected.
        self._skipping = mid_line and self._can_mistake_part_of_line
        if self._skipping:
            self.tally.damaged["truncated"] += 1

    def read_frame(self, data: bytes) -> Frame | None:
        """Return the measurements of a line as a frame, or None if it has no measurements.

        Raises:
            Damaged: with reason "utf8" if the line is not UTF-8, "text" if it contains control
                characters, "checksum" if the checksum after ETX is wrong, or with a reason that
                `parse` gives.
        """
        text = _OF_TERMINAL.sub(b"", data).decode("utf-8", "surrogateescape")
        if not text.isascii():
            text = _OF_LATIN_1.sub(_sign_of, text)
            if not self._keeps_other_bytes and _NO_UTF_8.search(text):
                raise Damaged("utf8")
        if "\x03" in text:
            text = _between_stx_and_etx(text)
        text = text.strip(_AROUND).removeprefix(_BYTE_ORDER_MARK).strip()
        if _CONTROL.search(text):
            raise Damaged("text")
        return self.frame_of(text) if text else None

    def frame_of(self, text: str) -> Frame | None:
        """Return the measurements of a line as a frame, or None if it has no measurements."""
        skipped: Counter[str] = Counter()
        measurements = self._parse(text, skipped)
        self.tally.skipped.update(skipped)
        if not measurements:
            return None
        return Frame({name: [found] for name, found in measurements.items()})


def unwrapped(line: str) -> str:
    """Return a line without the brackets around it, which sketches print as marks of its ends.

    For example, `<21.5,40>` becomes `21.5,40`. Other marks are `{}`, `[]`, `()`, and `$` or `*`
    with `#`.
    """
    if line[:1] not in _MARKS:
        return line
    found = _WRAPPED.fullmatch(line)
    return line if found is None else (found[found.lastindex or 0]).strip()


def _sign_of(found: re.Match[str]) -> str:
    return chr(ord(found[0]) - 0xDC00)


def _between_stx_and_etx(text: str) -> str:
    """Return the text between STX and ETX, and check the checksum after it, if there is one.

    Raises:
        Damaged: with reason "checksum".
    """
    found = _STX_TO_ETX.fullmatch(text)
    if found is None:
        return text
    if found[2] is not None and int(found[2], 16) != xor8_of_text(found[1]):
        raise Damaged("checksum")
    return found[1]
