"""Values as sensors write them in lines of text, and the measurements of one line.

A quantity is a number, a truth value or a string; null and empty cells are quantities that the
sensor did not measure this time. A line is read whole or counted as damaged whole: half of a line
would hide that something was wrong with it.
"""

import math
import re
from collections.abc import Sequence

from firmware_bridge.protocols.frame import Damaged, checked_text
from firmware_bridge.readings.measurement import INTEGER_MAX, MEASUREMENTS_MAX, Measurement, Value
from firmware_bridge.readings.names import is_name

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_TRUTH = {"true": True, "false": False}


def measurements_of(pairs: Sequence[tuple[str, Value | None]]) -> dict[str, Measurement]:
    """Return a line's measurements by name; None is a quantity without a value.

    Raises:
        Damaged: "overlong" for too many, "name", "text".
    """
    if len(pairs) > MEASUREMENTS_MAX:
        raise Damaged("overlong")
    measurements: dict[str, Measurement] = {}
    for name, value in pairs:
        if not is_name(name) or name in measurements:
            raise Damaged("name")
        if isinstance(value, str):
            checked_text(value)
        if value is not None:
            measurements[name] = Measurement(name, value)
    return measurements


def value_of(text: str) -> Value | None:
    """Convert a cell to a number, a truth value or a string; None for an empty one.

    Raises:
        Damaged: "value" for a number out of range.
    """
    if not text:
        return None
    if text in _TRUTH:
        return _TRUTH[text]
    if _INTEGER.fullmatch(text):
        return in_range(int(text))
    if _DECIMAL.fullmatch(text):
        return in_range(float(text))
    return text


def in_range(value: float) -> float:
    """Return the number, checked.

    Raises:
        Damaged: "value" for one that is not finite or has more than 64 bits.
    """
    if isinstance(value, int):
        if abs(value) > INTEGER_MAX:
            raise Damaged("value")
    elif not math.isfinite(value):
        raise Damaged("value")
    return value
