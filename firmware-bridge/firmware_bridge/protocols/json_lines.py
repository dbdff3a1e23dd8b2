"""Lines that are JSON objects, one member a quantity::

{"temperature": 21.5, "door": "open", "fault": false}
"""

import json
from dataclasses import dataclass

from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.interface import DecoderSettings
from firmware_bridge.protocols.lines import LineDecoder
from firmware_bridge.protocols.text_values import in_range, measurements_of
from firmware_bridge.readings.measurement import Measurement, Value


@dataclass(frozen=True, kw_only=True)
class JsonLines(DecoderSettings):
    """Each line is a JSON object."""

    def decoder(self) -> LineDecoder:
        """Create a decoder for one line."""
        return LineDecoder(read_json, can_mistake_part_of_line=False)


def read_json(line: str) -> dict[str, Measurement]:
    """Read the measurements of one line.

    Raises:
        Damaged: "syntax" for what is no object, "value" for what is no value of a reading, "name",
            "text", "overlong".
    """
    try:
        found = json.loads(line, object_pairs_hook=_pairs, parse_constant=_refuse_constant)
    except (RecursionError, ValueError) as error:
        raise error if isinstance(error, Damaged) else Damaged("syntax") from None
    if not isinstance(found, dict):
        raise Damaged("syntax")
    return measurements_of([(name, _value_of(value)) for name, value in found.items()])


def _value_of(value: object) -> Value | None:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float):
        return in_range(value)
    raise Damaged("value")


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise Damaged("name")
    return dict(pairs)


def _refuse_constant(constant: str) -> float:
    raise Damaged("value")  # NaN and Infinity are no JSON.
