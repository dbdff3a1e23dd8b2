"""Protocol for lines that are JSON objects. The names of nested members are joined with dots::

{"temperature": 21.5, "door": "open", "DHT11": {"Humidity": 40}}     -> DHT11.Humidity
12:00:00.123 MQT: tele/plug/SENSOR = {"Time": "2026-01-01T12:00:00"}  an object at the end of a log
"""

import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Final

from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.lines import LineDecoder
from firmware_bridge.protocols.text_values import (
    TYPES_DESCRIPTION,
    LineValues,
    TextLineSettings,
    is_nothing,
    name_for,
    number_of,
)
from firmware_bridge.readings.kinds import Kinds
from firmware_bridge.readings.measurement import Measurement

# Devices nest two or three levels. The limit bounds the work for a forged line.
DEPTH_MAX: Final = 8

# A string, a comma after the last member, a colon without a value, or a word between punctuation.
_TOKEN: Final = re.compile(
    r""""(?:[^"\\]|\\.)*"?|'(?:[^'\\"]|\\.)*'|,\s*(?=[}\]])|:\s*(?=[,}])|[^\s"'{}\[\]:,]+"""
)
# Text of a log in front of the object. Part of an outer object would have quotation marks.
_OF_LOG: Final = re.compile(r"""[^"'{}]+(?=\{)""")
_OF_PYTHON: Final = {"True": "true", "False": "false"}
_HEXADECIMAL: Final = re.compile(r"0[xX][0-9A-Fa-f]{1,16}")


@dataclass(frozen=True, kw_only=True)
class JsonLines(TextLineSettings):
    """Settings for lines that each contain one JSON object."""

    descriptions: ClassVar = {"types": TYPES_DESCRIPTION}

    def decoder(self) -> LineDecoder:
        """Create a decoder for one serial line."""
        reader = MemberReader(kinds := Kinds(self.types))
        return LineDecoder(
            reader.read, can_mistake_part_of_line=False, keeps_other_bytes=True, kinds=kinds
        )


class _Members(list[tuple[str, object]]):
    """The members of a JSON object in order. The same name can occur more than once."""


class MemberReader:
    """Reader of JSON lines. Members that are not single values, such as lists, are skipped."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds

    def read(self, line: str, skipped: Counter[str]) -> dict[str, Measurement]:
        """Return the measurements of one line.

        Raises:
            Damaged: with reason "syntax" if the line is not a JSON object. If none of its members
                can be read, the reason is that of the first one: "member", "name", "type", "value"
                or "text".
        """
        log = _OF_LOG.match(line)
        line = line[log.end() if log else 0 :].rstrip(", \t")
        try:
            found = _loaded(line)
        except ValueError:
            found = _loaded_leniently(line)
        if not isinstance(found, _Members):
            raise Damaged("syntax")
        values = LineValues(self._kinds, skipped)
        for name, value in _leaves_of(found, "", DEPTH_MAX):
            if value is None or isinstance(value, str | bool | int | float):
                values.add_or_skip(name, value, is_text=True)
            else:
                values.skip("member")
        return values.finish()


def _loaded(line: str) -> object:
    """Parse a line of JSON.

    NaN and Infinity become None. They are not valid JSON, but programs in Python and C++ can print
    them.

    Raises:
        Damaged: with reason "syntax" if the nesting is too deep.
        ValueError: if the line is not JSON.
    """
    try:
        return json.loads(line, object_pairs_hook=_Members, parse_constant=lambda _: None)
    except RecursionError:
        raise Damaged("syntax") from None


def _loaded_leniently(line: str) -> object:
    """Parse a line of JSON with errors that are typical of firmware.

    Firmware often prints JSON value by value, as in `{"t":nan,"h":+21.5,"p":,}`. A dict as printed
    by MicroPython is also accepted: `{'t': 21.5, 'ok': True, 'p': None}`.

    Raises:
        Damaged: with reason "syntax" if the corrected line is still not valid JSON.
    """
    try:
        return _loaded(_TOKEN.sub(_token_of_json, line))
    except ValueError:
        raise Damaged("syntax") from None


def _token_of_json(found: re.Match[str]) -> str:
    text = found[0]
    match text[0]:
        case '"':
            return text
        case "'":
            return json.dumps(text[1:-1])
        case ",":
            return ""
        case ":":
            return ":null"
        case _:
            return _word_of_json(text)


def _word_of_json(text: str) -> str:
    if _HEXADECIMAL.fullmatch(text):
        return str(int(text, 16))
    try:
        number = number_of(text)
    except Damaged:
        return text
    if number is not None:
        return json.dumps(number)
    return "null" if is_nothing(text) else _OF_PYTHON.get(text, text)


def _leaves_of(members: _Members, prefix: str, depth: int) -> Iterator[tuple[str, object]]:
    """Yield the innermost members of an object.

    Each name is the full path to the member, such as `DHT11.Humidity`.
    """
    for name, value in members:
        whole = prefix + name_for(name)
        if isinstance(value, _Members) and depth > 1:
            yield from _leaves_of(value, f"{whole}.", depth - 1)
        else:
            yield whole, value
