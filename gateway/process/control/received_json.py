"""A tolerant JSON parser for lines of sensor data.

Sensors can send a string with a lone surrogate, NaN, or a number with thousands of digits. The
parser accepts or converts such values. A data model can then reject the single value instead of the
whole line, and a web page can show the value.
"""

import json
import re
from typing import Final

# Longest integer in characters: 64 bits with a sign and a margin. A longer one is read as a float,
# because parsing an int in Python takes quadratic time.
_INTEGER_CHARACTERS_MAX: Final = 32

_HALF_PAIR: Final = re.compile("[\ud800-\udfff]")


def value_of_json(line: bytes) -> object:
    """Parse a line of JSON. Lone surrogates in strings are replaced with U+FFFD.

    Raises ValueError if the line is not JSON, and RecursionError if the JSON is nested too deeply.
    """
    value = json.loads(line, parse_int=_integer_of)
    # In UTF-8, half of a surrogate pair can only occur as an escape sequence.
    return _with_whole_characters(value) if b"\\ud" in line.lower() else value


def _integer_of(digits: str) -> int | float:
    return int(digits) if len(digits) <= _INTEGER_CHARACTERS_MAX else float(digits)


def _with_whole_characters(value: object) -> object:
    """Replace lone surrogates in all strings of a JSON value in place, and return the value.

    The function does not use recursion, because a value can be nested deeply.
    """
    whole: list[object] = [value]
    containers: list[list[object] | dict[str, object]] = [whole]
    while containers:
        container = containers.pop()
        items = list(container.items() if isinstance(container, dict) else enumerate(container))
        container.clear()
        for key, each in items:
            if isinstance(each, list | dict):
                containers.append(each)
            if isinstance(container, dict):
                container[_whole(str(key))] = _whole(each) if isinstance(each, str) else each
            else:
                container.append(_whole(each) if isinstance(each, str) else each)
    return whole[0]


def _whole(text: str) -> str:
    return _HALF_PAIR.sub("\N{REPLACEMENT CHARACTER}", text)
