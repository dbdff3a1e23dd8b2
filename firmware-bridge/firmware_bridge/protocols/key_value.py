"""Lines of `key=value` pairs, separated by spaces, commas or semicolons::

temperature=21.5 humidity=40;pressure=1013.2
"""

import re
from dataclasses import dataclass

from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.interface import DecoderSettings
from firmware_bridge.protocols.lines import LineDecoder
from firmware_bridge.protocols.text_values import measurements_of, value_of
from firmware_bridge.readings.measurement import Measurement, Value

_SEPARATORS = re.compile(r"[\s,;]+")


@dataclass(frozen=True, kw_only=True)
class KeyValueLines(DecoderSettings):
    """Each line has pairs of a quantity and its value."""

    def decoder(self) -> LineDecoder:
        """Create a decoder for one line."""
        return LineDecoder(read_pairs, can_mistake_part_of_line=True)


def read_pairs(line: str) -> dict[str, Measurement]:
    """Read the measurements of one line.

    Raises:
        Damaged: "syntax" for a part without "=", "value", "name", "text", "overlong".
    """
    pairs: list[tuple[str, Value | None]] = []
    for part in _SEPARATORS.split(line.strip(" \t,;")):
        name, sign, text = part.partition("=")
        if not sign:
            raise Damaged("syntax")
        pairs.append((name, value_of(text)))
    return measurements_of(pairs)
