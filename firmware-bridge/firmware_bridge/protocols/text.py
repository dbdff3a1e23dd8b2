"""Three ways in which sensors write a line: a JSON object, `key=value` pairs, CSV.

::

    {"temperature": 21.5, "door": "open", "fault": false}
    temperature=21.5 humidity=40;pressure=1013.2
    21.5,40,1013.2                  (columns declared in the configuration)

A quantity is a number, a truth value or a string; null and empty cells are quantities that the
sensor did not measure this time. A line is read whole or counted as damaged whole: half of a line
would hide that something was wrong with it.
"""

import csv
import json
import math
import re
from collections.abc import Callable, Sequence

from firmware_bridge.protocols.frame import (
    INTEGER_MAX,
    MEASUREMENTS_MAX,
    Damaged,
    Measurement,
    Value,
    checked_text,
)
from firmware_bridge.readings.names import is_name

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,4})?")
_SEPARATORS = re.compile(r"[\s,;]+")
_TRUTH = {"true": True, "false": False}


def json_line(line: str) -> dict[str, Measurement]:
    try:
        found = json.loads(line, object_pairs_hook=_pairs, parse_constant=_refuse_constant)
    except (RecursionError, ValueError) as error:
        raise error if isinstance(error, Damaged) else Damaged("syntax") from None
    if not isinstance(found, dict):
        raise Damaged("syntax")
    return _measurements([(name, _json_value(value)) for name, value in found.items()])


def key_value_line(line: str) -> dict[str, Measurement]:
    pairs: list[tuple[str, Value | None]] = []
    for part in _SEPARATORS.split(line.strip(" \t,;")):
        name, sign, text = part.partition("=")
        if not sign:
            raise Damaged("syntax")
        pairs.append((name, _value_of(text) if text else None))
    return _measurements(pairs)


def csv_line_of(columns: Sequence[str]) -> Callable[[str], dict[str, Measurement]]:
    """A parser for lines with these columns; "_" leaves a column out."""

    def csv_line(line: str) -> dict[str, Measurement]:
        try:
            cells = next(csv.reader([line], strict=True, skipinitialspace=True))
        except csv.Error:
            raise Damaged("syntax") from None
        cells = [cell.strip() for cell in cells]
        if len(cells) != len(columns):
            raise Damaged("columns")
        if cells == list(columns):
            return {}  # Many loggers repeat their heading after a restart.
        return _measurements(
            [
                (column, _value_of(cell) if cell else None)
                for column, cell in zip(columns, cells, strict=True)
                if column != "_"
            ]
        )

    return csv_line


def _measurements(pairs: Sequence[tuple[str, Value | None]]) -> dict[str, Measurement]:
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


def _value_of(text: str) -> Value:
    if text in _TRUTH:
        return _TRUTH[text]
    if _INTEGER.fullmatch(text):
        return _in_range(int(text))
    if _DECIMAL.fullmatch(text):
        return _in_range(float(text))
    return text


def _json_value(value: object) -> Value | None:
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int | float):
        return _in_range(value)
    raise Damaged("value")


def _in_range(value: float) -> float:
    if isinstance(value, int):
        if abs(value) > INTEGER_MAX:
            raise Damaged("value")
    elif not math.isfinite(value):
        raise Damaged("value")
    return value


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    if len({name for name, _ in pairs}) != len(pairs):
        raise Damaged("name")
    return dict(pairs)


def _refuse_constant(constant: str) -> float:
    raise Damaged("value")  # NaN and Infinity are no JSON.
