"""Protocol for lines of `key=value` pairs, separated by spaces, commas, semicolons, `|` or `&`::

temperature=21.5 humidity=40;pressure=1013.2
temperature:21.5, humidity:40                     with value_separator = ":"
Soil moisture = 45 %, Heat index = 23.05 *C       names of up to three words
"""

import re
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, Literal

from firmware_bridge.protocols.checksums import xor8_of_text
from firmware_bridge.protocols.frame import TYPE, Damaged
from firmware_bridge.protocols.joined_units import split_unit, unit_of, with_short_units
from firmware_bridge.protocols.lines import LineDecoder, unwrapped
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

# A comma between digits is a decimal comma, unless another pair follows the comma.
_SEPARATORS = re.compile(
    r"(?:[\s;|&]|(?<![0-9]),|,(?![0-9]+(?:[.,][0-9]+){0,8}[^\s;|&,=0-9]*(?:[\s;|&,]|$)))+"
)
# Blanks between "=" and a value are removed, unless the next pair follows the blanks.
_BLANKS_AROUND_SIGN = re.compile(r"[ \t]*=[ \t]+(?=\S)(?![^\s=;,]+[ \t]*=)|[ \t]+=")
# A value in quotation marks may contain separators.
_QUOTED = re.compile(r"""=(?:"([^"]*)"|'([^']*)')(?=[\s;|&,]|$)""")
_QUOTED_AFTER_COLON = re.compile(_QUOTED.pattern.replace("=", ":", 1))
# A colon after a name at the beginning of a pair. Times and addresses do not begin with a letter,
# and "//" follows the colon of a URL.
_COLON_AFTER_NAME = re.compile(r"(?<![^\s;|&,])([^\W\d][^\s;|&,:=]*)[ \t]*:(?!//)")
# A name of two or three words, before a number. "=" needs a blank next to it, because words before
# `T=21.5` are rarely a part of the name. A date, a time or an address is not a number.
_LONG_NAME = re.compile(
    r"(?<![^\s;|&,])([(\[]?[^\W\d][^\s;|&,:=]*[ \t]+[^\s;|&,:=\d][^\s;|&,:=]*"
    r"(?:[ \t]+[^\s;|&,:=\d][^\s;|&,:=]*)?)"
    r"([ \t]+=|=(?=[ \t])|[ \t]*:)"
    r"(?![ \t]*[0-9]+(?:[.:/-][0-9]+){2})"
    r"(?=[ \t]*(?:[+\N{MINUS SIGN}-]?[ \t]*[.,]?[0-9]|--|[+-]?(?i:nan|inf|ovf)))"
)
# What the ROM of an ESP8266 or ESP32 prints at a start, and its register dump at a crash,
# whose names are padded to eight characters.
_OF_ESP = re.compile(
    r"configsip:|SPIWP:0x|clk_drv:0x|mode:[DQ](?:IO|OUT),|load:0x|ESP-ROM:"
    r"|ELF file SHA256:|ctx: (?:cont|sys)$|sp: [0-9a-f]{8} end: |epc1=0x"
    r"|[A-Z][A-Z0-9/ ]{7}: 0x[0-9a-f]{8}(?:  |$)"
)
# A checksum at the end of a line, as in NMEA: the XOR of the characters before the asterisk.
_CHECKED = re.compile(r"\$?(.*[=:,][ \t]*[+-]?[0-9.]+)\*([0-9A-Fa-f]{2})", re.ASCII)
# What ESP-IDF prints before the text of a log: `I (123) dht: `.
_HEAD_OF_LOG = re.compile(r"[WIDV] \([0-9:.]+\) [^\s=:]+: (?=.*=)")
# A number with blanks between its thousands, as in `1 013.25`, and what may be one (`1 013`).
_SPACED = re.compile(
    r"([=:](?<![0-9]:)[ \t]*)([+-]?[0-9]{1,3}(?:[ \u00a0\u202f][0-9]{3})+[.,][0-9]+)(?![^\s;|&,])"
)
_PART_OF_SPACED, _REST_OF_SPACED = re.compile(r"[+-]?[0-9]{1,3}"), re.compile(r"[0-9]{3}")
# The tolerance of a number, as in `V=3.3 +/- 0.1 V`: the unit after it is that of the number.
_TOLERANCE = re.compile(r"(?:\N{PLUS-MINUS SIGN}|\+/?-)[0-9.,]+")
_BLANKS_OF_TOLERANCE = re.compile(r"(?<=[ \t])(\N{PLUS-MINUS SIGN}|\+/-)[ \t]+(?=[0-9])")
_HIDE = {ord(each): 0xE000 + ord(each) for each in " \t;|&,=:"}
_SHOW = {hidden: each for each, hidden in _HIDE.items()}
"""Maps private-use characters to separators. Until a line is split, the separators inside its
quotation marks are replaced by these characters."""


@dataclass(frozen=True, kw_only=True)
class KeyValueLines(TextLineSettings):
    """Settings for lines of `key=value` pairs, in which each key is the name of a quantity."""

    descriptions: ClassVar = {
        "value_separator": "Character between a quantity and its value.",
        "types": TYPES_DESCRIPTION,
    }

    value_separator: Literal["=", ":"] = "="

    def decoder(self) -> LineDecoder:
        """Create a decoder for one serial line."""
        reader = PairReader(
            kinds := Kinds(self.types),
            declared=frozenset(self.types),
            takes_colons=self.value_separator == ":",
        )
        return LineDecoder(
            reader.read, can_mistake_part_of_line=True, keeps_other_bytes=True, kinds=kinds
        )


class PairReader:
    """Reader of lines that contain `key=value` pairs. It skips pairs that it cannot read.

    A line is rejected as prose, such as a boot message, if at least half of its words are not
    pairs. The units after values, as in `T=21.5 C H=40 %`, are not counted as words. A name may
    have up to three words, as in `Soil moisture = 45`, if all values of the line are numbers and
    all its words belong to names or units. A line is also rejected if a value does not have the
    data type that the settings declare for its quantity. If `takes_colons` is True, pairs such as
    `T:21.5` are accepted too.
    """

    def __init__(
        self,
        kinds: Kinds,
        *,
        declared: frozenset[str] = frozenset(),
        takes_colons: bool = False,
    ) -> None:
        self._kinds = kinds
        self._declared = declared
        self._takes_colons = takes_colons

    def read(self, line: str, skipped: Counter[str]) -> dict[str, Measurement]:
        """Return the measurements of one line.

        Raises:
            Damaged: with reason "syntax" if the line is prose or a boot message, or "type" if a
                value does not have the declared type of its quantity. If no value can be read, the
                reason is that of the first unreadable pair.
        """
        if _OF_ESP.match(line):
            raise Damaged("syntax")
        if line[-3:-2] == "*":
            line = _without_checksum(line)
        if line[1:3] == " (" and not self._takes_colons:
            line = _HEAD_OF_LOG.sub("", line)
        parts = self._parts_of(line := unwrapped(line))
        if not parts or not all("=" in part for part in parts):
            parts = self._explained(line)
        values = LineValues(self._kinds, skipped)
        latest = text = ""
        for part in parts:
            name, sign, written = part.partition("=")
            if sign:
                latest, text = name_for(name), written
                self._add(values, latest, text.translate(_SHOW))
            elif latest and (unit := unit_of(part)) is not None:
                values.add_unit(latest, unit)
                latest = ""
            elif _REST_OF_SPACED.fullmatch(part) and _PART_OF_SPACED.fullmatch(text):
                values.remove(latest)
                values.skip("syntax")
            else:
                values.skip("syntax")
                if not _TOLERANCE.fullmatch(part):
                    latest = ""  # A unit after this word belongs to another number.
        return values.finish()

    def _explained(self, line: str) -> list[str]:
        """Split a line that contains words. Join the words of names and of units.

        Raises:
            Damaged: with reason "syntax" if the line is prose.
        """
        line = with_short_units(_SPACED.sub(_without_blanks, line))
        line = _BLANKS_OF_TOLERANCE.sub(r"\1", line)
        parts = self._parts_of(line)
        joined = _LONG_NAME.sub(self._with_joined_name, line)
        if joined != line and _is_explained(joined_parts := self._parts_of(joined)):
            return joined_parts
        if _is_prose(parts) and not _is_explained(parts):
            raise Damaged("syntax")
        return parts

    def _parts_of(self, line: str) -> list[str]:
        """Split a line into pairs with `=`, and other words."""
        if self._takes_colons:
            line = _COLON_AFTER_NAME.sub(r"\1=", _QUOTED_AFTER_COLON.sub(_hidden, line))
        quoted = _QUOTED.sub(_hidden, line)
        joined = _BLANKS_AROUND_SIGN.sub("=", quoted)
        return [part for part in _SEPARATORS.split(joined) if part]

    def _with_joined_name(self, found: re.Match[str]) -> str:
        """Join the words of a name with `_`. A unit of the number before the name is kept apart."""
        if found[2].endswith(":") and not self._takes_colons:
            return found[0]
        words = found[1].split()
        before = found.string[: found.start()].rstrip()
        is_unit = before[-1:].isdecimal() and unit_of(words[0]) is not None
        unit = words.pop(0) + " " if is_unit else ""
        return f"{unit}{name_for(' '.join(words))}{found[2]}"

    def _add(self, values: LineValues, name: str, text: str) -> None:
        try:
            values.add_with_unit(name, text)
        except Damaged as damage:
            if damage.reason == TYPE and name in self._declared:
                raise
            values.skip(damage.reason)


def _without_checksum(line: str) -> str:
    """Return a line without the checksum at its end, if it has one.

    Raises:
        Damaged: with reason "checksum" if it is wrong.
    """
    found = _CHECKED.fullmatch(line)
    if found is None:
        return line
    if xor8_of_text(found[1]) != int(found[2], 16):
        raise Damaged("checksum")
    return found[1]


def _without_blanks(found: re.Match[str]) -> str:
    return found[1] + "".join(found[2].split())


def _is_prose(parts: list[str]) -> bool:
    words = [part for part in parts if "=" not in part]
    units = sum(unit_of(word) is not None for word in words)
    return (len(words) - units) * 2 >= len(parts) - units


def _is_explained(parts: list[str]) -> bool:
    """Return True if a line consists of pairs with numbers and of words that may be next to them.

    These words are units, further numbers with units, and words without letters, such as a time.

    Raises:
        Damaged: with reason "value" if a number is out of range.
    """
    pairs = [part.partition("=")[2] for part in parts if "=" in part]
    words = [part for part in parts if "=" not in part]
    return (
        bool(pairs)
        and all(_is_number(text.translate(_SHOW)) for text in pairs)
        and all(
            unit_of(word) is not None
            or split_unit(word)[1] is not None
            or not any(map(str.isalpha, word))
            for word in words
        )
    )


def _is_number(text: str) -> bool:
    number = split_unit(text)[0]
    return is_nothing(number) or number_of(number) is not None


def _hidden(found: re.Match[str]) -> str:
    return found[0][0] + (found[1] or found[2] or "").translate(_HIDE)
