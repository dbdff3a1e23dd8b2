"""Protocol for lines of `key=value` pairs, separated by spaces, commas or semicolons::

temperature=21.5 humidity=40;pressure=1013.2
"""

import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import ClassVar

from firmware_bridge.protocols.frame import TYPE, Damaged
from firmware_bridge.protocols.lines import LineDecoder
from firmware_bridge.protocols.text_values import (
    TYPES_DESCRIPTION,
    LineValues,
    TextLineSettings,
    name_for,
)
from firmware_bridge.readings.kinds import Kinds
from firmware_bridge.readings.measurement import Measurement
from gateway.process.declarations.units import unit_meant_by

# A comma between digits is a decimal comma, unless another pair follows the comma.
_SEPARATORS = re.compile(r"(?:[\s;]|(?<![0-9]),|,(?![0-9]+[^\s;,=0-9]*(?:[\s;,]|$)))+")
# Blanks between "=" and a value are removed, unless the next pair follows the blanks.
_BLANKS_AROUND_SIGN = re.compile(r"[ \t]*=[ \t]+(?=\S)(?![^\s=;,]+[ \t]*=)|[ \t]+=")

_UNITS = frozenset({
    "%", "%RH", "C", "*C", "\N{DEGREE SIGN}C", "F", "*F", "\N{DEGREE SIGN}F", "K", "V", "mV", "A",
    "mA", "W", "kW", "kWh", "Wh", "VA", "var", "Hz", "kHz", "Pa", "hPa", "kPa", "mbar", "bar",
    "ppm", "ppb", "dB", "dBm", "lx", "lux", "mm", "cm", "m", "km", "m/s", "km/h", "s", "ms", "min",
    "h", "g", "kg", "l", "m3", "ug/m3", "Ohm",
})  # fmt: skip
"""Units that sketches print after a value, either as a separate word or joined to the number."""
_MEANT = {"C": "Cel", "*C": "Cel", "F": "degF", "*F": "degF", "\N{DEGREE SIGN}F": "degF"}


@dataclass(frozen=True, kw_only=True)
class KeyValueLines(TextLineSettings):
    """Settings for lines of pairs, each with a quantity and its value."""

    descriptions: ClassVar = {"types": TYPES_DESCRIPTION}

    def decoder(self) -> LineDecoder:
        """Create a decoder for one serial line."""
        reader = PairReader(kinds := Kinds(self.types), declared=frozenset(self.types))
        return LineDecoder(
            reader.read, can_mistake_part_of_line=True, keeps_other_bytes=True, kinds=kinds
        )


_GLUED = re.compile(r"([+-]?[0-9]+(?:[.,][0-9]+)?)([^0-9.,\s].*)")
_HEXADECIMAL = frozenset("ABCDEF")


def parted(text: str) -> tuple[str, str | None]:
    """Split text such as `21.5C` into number and unit. Return other text with None as the unit.

    A letter that is also a hexadecimal digit is only a unit after a decimal point, because `12A`
    may be an identifier.
    """
    found = _GLUED.fullmatch(text.strip())
    if found is None or found[2] not in _UNITS:
        return text, None
    if found[2] in _HEXADECIMAL and found[1].isdecimal():
        return text, None
    return found[1], unit_meant_by(found[2]) or _MEANT.get(found[2], found[2])


class PairReader:
    """Reader of lines of pairs. If a pair cannot be read, only this pair is skipped.

    A line is rejected as prose, such as the boot messages of a board, if at least half of its words
    are not pairs. A unit after a value, as in `T=21.5 C H=40 %`, does not count as a word. A line
    is also rejected if a quantity does not have its declared type.
    """

    def __init__(self, kinds: Kinds, *, declared: frozenset[str] = frozenset()) -> None:
        self._kinds = kinds
        self._declared = declared

    def read(self, line: str, left_out: Counter[str]) -> dict[str, Measurement]:
        """Return the measurements of one line.

        Raises:
            Damaged: with reason "syntax" if the line is prose, "type" if a quantity does not have
                its declared type.
        """
        values = LineValues(self._kinds, left_out)
        words = units = 0
        glued: dict[str, str] = {}
        joined = _BLANKS_AROUND_SIGN.sub("=", line)
        parts = [part for part in _SEPARATORS.split(joined) if part]
        for part in parts:
            name, sign, text = part.partition("=")
            name = name_for(name)
            if not sign:
                words += 1
                units += part in _UNITS
                continue
            is_text = self._kinds.of(name) in ("text", "boolean")
            text, unit = (text, None) if is_text else parted(text)
            if unit is not None:
                glued[name] = unit
            try:
                values.add(name, text)
            except Damaged as damage:
                if damage.reason == TYPE and name in self._declared:
                    raise
                values.leave_out(damage.reason)
        if (words - units) * 2 >= len(parts) - units:
            raise Damaged("syntax")
        values.leave_out("syntax", words)
        found = values.finish()
        return {
            name: replace(each, unit=glued[name]) if name in glued else each
            for name, each in found.items()
        }
