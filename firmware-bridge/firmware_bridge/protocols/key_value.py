"""Lines of `key=value` pairs, separated by spaces, commas or semicolons::

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

# A comma between digits is a decimal comma, where what follows is no pair of its own.
_SEPARATORS = re.compile(r"(?:[\s;]|(?<![0-9]),|,(?![0-9]+[^\s;,=0-9]*(?:[\s;,]|$)))+")
# Blanks before a value belong to the sign, unless what follows is the next pair.
_BLANKS_AROUND_SIGN = re.compile(r"[ \t]*=[ \t]+(?=\S)(?![^\s=;,]+[ \t]*=)|[ \t]+=")

_UNITS = frozenset({
    "%", "%RH", "C", "*C", "\N{DEGREE SIGN}C", "F", "*F", "\N{DEGREE SIGN}F", "K", "V", "mV", "A",
    "mA", "W", "kW", "kWh", "Wh", "VA", "var", "Hz", "kHz", "Pa", "hPa", "kPa", "mbar", "bar",
    "ppm", "ppb", "dB", "dBm", "lx", "lux", "mm", "cm", "m", "km", "m/s", "km/h", "s", "ms", "min",
    "h", "g", "kg", "l", "m3", "ug/m3", "Ohm",
})  # fmt: skip
"""Units after a value, as sketches print them: words of their own, or joined to the number."""
_MEANT = {"C": "Cel", "*C": "Cel", "F": "degF", "*F": "degF", "\N{DEGREE SIGN}F": "degF"}


@dataclass(frozen=True, kw_only=True)
class KeyValueLines(TextLineSettings):
    """Each line has pairs of a quantity and its value."""

    descriptions: ClassVar = {"types": TYPES_DESCRIPTION}

    def decoder(self) -> LineDecoder:
        """Create a decoder for one line."""
        reader = PairReader(kinds := Kinds(self.types), declared=frozenset(self.types))
        return LineDecoder(
            reader.read, can_mistake_part_of_line=True, keeps_other_bytes=True, kinds=kinds
        )


_GLUED = re.compile(r"([+-]?[0-9]+(?:[.,][0-9]+)?)([^0-9.,\s].*)")
_HEXADECIMAL = frozenset("ABCDEF")


def parted(text: str) -> tuple[str, str | None]:
    """Return `21.5C` as number and unit; the text as it is, and None, where it is no such pair.

    A letter that is a hexadecimal digit is a unit after a decimal point alone: `12A` may be an
    identifier.
    """
    found = _GLUED.fullmatch(text.strip())
    if found is None or found[2] not in _UNITS:
        return text, None
    if found[2] in _HEXADECIMAL and found[1].isdecimal():
        return text, None
    return found[1], unit_meant_by(found[2]) or _MEANT.get(found[2], found[2])


class PairReader:
    """Reads lines. A pair that cannot be read is left out, and costs no other.

    A line with as many words that are no pairs as there are pairs is prose: the text of a starting
    board. Units are no such words: `T=21.5 C H=40 %`. A line in which a declared quantity is not of
    its type is prose as well.
    """

    def __init__(self, kinds: Kinds, *, declared: frozenset[str] = frozenset()) -> None:
        self._kinds = kinds
        self._declared = declared

    def read(self, line: str, left_out: Counter[str]) -> dict[str, Measurement]:
        """Read the measurements of one line.

        Raises:
            Damaged: "syntax" for prose, "type" for a declared quantity of another type.
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
