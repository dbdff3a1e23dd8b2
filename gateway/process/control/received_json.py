"""Tolerant JSON parser for values from sensors: one odd value does not make a line unreadable.

Pure.

A sensor's text may contain half of a surrogate pair; its number may be NaN or have thousands of
digits. Each is converted to a value that a model can reject on its own, or that a page can show.
"""

import json
import re
from typing import Final

# Characters of the longest integer that a model can hold (64 bits, with sign and reserve). A longer
# one is read as a float: parsing an int in Python takes quadratic time.
_INTEGER_CHARACTERS_MAX: Final = 32

_HALF_PAIR: Final = re.compile("[\ud800-\udfff]")


def value_of_json(line: bytes) -> object:
    """Parse a line of JSON. Half of a surrogate pair becomes U+FFFD.

    Raises ValueError or RecursionError if it is not JSON, or too deeply nested.
    """
    value = json.loads(line, parse_int=_integer_of)
    # In UTF-8, half a pair can only occur as an escape.
    return _with_whole_characters(value) if b"\\ud" in line.lower() else value


def _integer_of(digits: str) -> int | float:
    return int(digits) if len(digits) <= _INTEGER_CHARACTERS_MAX else float(digits)


def _with_whole_characters(value: object) -> object:
    """Replace broken surrogates in place and return the value.

    Does not recurse, since reports nest deeply.
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
