"""Converts values in lines of text, as sensors write them.

A value is a number, a Boolean or a string. If a sensor could not measure a quantity, it writes
`nan`, `ovf`, `--` or an empty string. Such a quantity has no value, and is counted as not measured.
"""

import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from firmware_bridge.protocols.frame import TYPE, Damaged, checked_text
from firmware_bridge.protocols.interface import DecoderSettings
from firmware_bridge.protocols.joined_units import split_unit
from firmware_bridge.readings.kinds import Kind, Kinds, kind_of
from firmware_bridge.readings.measurement import INTEGER_MAX, Measurement, Value
from firmware_bridge.readings.names import is_name
from gateway.process.declarations.quantities import refusal

NOT_MEASURED: Final = "not_measured"
"""Reason for skipping a quantity that the sensor could not measure."""

_INTEGER = re.compile(r"[+-]?0*[0-9]{1,19}")
_IDENTIFIER = re.compile(r"[+-]?[0-9]{20,}")
_DECIMAL = re.compile(r"[+-]?([0-9]+[.,]?[0-9]*|[.,][0-9]+)([eE][+-]?[0-9]{1,4})?")
_AFTER_SIGN = re.compile(r"(?<=^[+-])[ \t]+")
_NOTHING = re.compile(
    r"[-.*?]+"  # --, --.-, ***
    r"|[+-]?(nan(\(\w*\))?|inf(inity)?|ovf)"  # of C and Arduino
    r"|[+-]?1[.,]#\w+"  # 1.#QNAN of Windows
    r"|#?n/?a|#+|null|(?-i:None)|undefined",
    re.ASCII | re.IGNORECASE,
)
_FAULT = re.compile(r"err(or)?|fail(ed)?|invalid|time-?out|n\.?c\.?", re.ASCII | re.IGNORECASE)
"""Words for a failed measurement. Such a word does not make a new quantity a string."""
_OVERLOAD = re.compile(r"[+-]?(?:\.?O\.?L\.?|0\.L|OVLD)", re.IGNORECASE)
"""Signs of multimeters for a value out of range. `OL` as a text can have another meaning."""
_SCPI_NOTHING: Final = (9.9e37, 9.91e37)
"""Numbers that instruments send for infinity and NaN. Source: SCPI-1999, section 7.2.1."""
_HEXADECIMAL = re.compile(r"0[xX][0-9A-Fa-f]{1,16}")
_GROUPED = re.compile(
    r"[+-]?[0-9]{1,3}(?:(?:,[0-9]{3})+\.[0-9]+|(?:\.[0-9]{3})+,[0-9]+|(?:'[0-9]{3})+(?:\.[0-9]+)?)"
)
"""A number with thousands separators. `1,234` does not match, because it can also mean 1.234."""
_MINUS = str.maketrans("\N{MINUS SIGN}\N{EN DASH}", "--")
_TRUTH: Final = {"true": True, "false": False}
_TRUTH_DECLARED: Final = {**_TRUTH, "1": True, "0": False, "on": True, "off": False,
                          "yes": True, "no": False}  # fmt: skip
_NO_NAME = re.compile(r"[^A-Za-z0-9.:_-]+")


@dataclass(frozen=True, kw_only=True)
class TextLineSettings(DecoderSettings):
    """Base class for settings of text protocols. `types` declares the data types of quantities."""

    types: dict[str, Kind] = field(default_factory=dict)

    def check(self) -> None:
        """Reject `types` if it names a quantity that the lines of this port cannot contain."""
        known = self.value_names("")
        for name in self.types:
            if not is_name(name):
                raise refusal(f'the name of a quantity in place of "{name}" in types')
            if known is not None and name not in known:
                raise refusal(f"one of {', '.join(sorted(known))} in place of {name} in types")


TYPES_DESCRIPTION: Final = (
    "Types of quantities: number, text or boolean. By default the first value decides."
)


class LineValues:
    """Collector of the measurements of one line.

    The data types of new quantities are recorded only in `finish`. If the line turns out to be
    damaged, no data types are recorded.
    """

    def __init__(self, kinds: Kinds, skipped: Counter[str]) -> None:
        self._kinds = kinds
        self._skipped = skipped
        self._values: dict[str, Value] = {}
        self._units: dict[str, str] = {}
        self._damage: str | None = None

    def add_with_unit(self, name: str, written: str) -> None:
        """Add a value that may have a unit joined to its number, like `21.5C`.

        Can raise the same exceptions as `add`.
        """
        is_text = self._kinds.of(name) in ("text", "boolean")
        text, unit = (written, None) if is_text else split_unit(written)
        self.add(name, text)
        if unit is not None and name in self._values:
            self._units[name] = unit

    def add_unit(self, name: str, unit: str) -> None:
        """Add a unit that follows the number of the quantity `name`, unless it has a unit already.

        A value that is not a number keeps no unit.
        """
        value = self._values.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            self._units.setdefault(name, unit)

    def add(self, name: str, written: Value | None, *, is_text: bool = False) -> None:
        """Add a value, or count it as not measured. `written` is None if there is no value.

        A string is converted to the data type of its quantity. If this type is not known yet, it is
        text if the argument `is_text` is True. Otherwise it is derived from the string.

        Raises:
            Damaged: with reason "name" if the name is invalid or repeated, or "type", "value" or
                "text" if the value is invalid.
        """
        if not is_name(name) or name in self._values:
            raise Damaged("name")
        kind = self._kinds.of(name)
        try:
            self._values[name] = _converted(written, kind, is_text=is_text)
        except Damaged as damage:
            if damage.reason != NOT_MEASURED:
                raise
            self._skipped[NOT_MEASURED] += 1

    def remove(self, name: str) -> None:
        """Remove a value, which turned out to be only the beginning of a number."""
        self._values.pop(name, None)

    def add_or_skip(self, name: str, written: Value | None, *, is_text: bool = False) -> None:
        """Add a value. If the value cannot be read, count it and skip it."""
        try:
            self.add(name, written, is_text=is_text)
        except Damaged as damage:
            self.skip(damage.reason)

    def skip(self, reason: str, count: int = 1) -> None:
        """Count unreadable parts of the line. `count` is added to the counter of this reason."""
        if count:
            self._skipped[reason] += count
            self._damage = self._damage or reason

    @property
    def is_prose(self) -> bool:
        """True if all values are strings, and none of the quantities has a known data type.

        A line of this kind is probably prose, for example a boot message.
        """
        return bool(self._values) and all(
            isinstance(value, str) and self._kinds.of(name) is None
            for name, value in self._values.items()
        )

    def finish(self) -> dict[str, Measurement]:
        """Return the line's measurements by name, and record their data types.

        Raises:
            Damaged: if all values of the line were unreadable. The reason is that of the first one.
        """
        if self._damage is not None and not self._values:
            raise Damaged(self._damage)
        for name, value in self._values.items():
            self._kinds.note(name, value)
        return {
            name: Measurement(name, value, self._units.get(name))
            for name, value in self._values.items()
        }


def _converted(written: Value | None, kind: Kind | None, *, is_text: bool) -> Value:
    if written is None:
        raise Damaged(NOT_MEASURED)
    if not isinstance(written, str):
        value = converted(written, kind)
        return in_range(value) if isinstance(value, int | float) else value
    if is_text and kind is None and not is_nothing(written):
        return checked_text(written)
    return value_of(written, kind)


def value_of(text: str, kind: Kind | None = None) -> Value:
    """Convert a sensor's string to a value of the data type `kind`.

    If `kind` is None, the type is derived from the string.

    Raises:
        Damaged: with reason "not_measured" if the sensor reports no value, "type" if the string
            does not have this type, "value" if a number is out of range, or "text" if the string
            is not valid UTF-8.
    """
    text = text.strip()
    if not text or (kind != "text" and _NOTHING.fullmatch(text)):
        raise Damaged(NOT_MEASURED)
    if kind == "text":
        return checked_text(text)
    if kind == "boolean":
        if text.lower() not in _TRUTH_DECLARED:
            raise Damaged(TYPE)
        return _TRUTH_DECLARED[text.lower()]
    number = number_of(text)
    if number is not None:
        if abs(number) in _SCPI_NOTHING:
            raise Damaged(NOT_MEASURED)
        return number
    if (kind is None and _FAULT.fullmatch(text)) or (
        kind == "number" and _OVERLOAD.fullmatch(text)
    ):
        raise Damaged(NOT_MEASURED)
    if kind == "number" and _HEXADECIMAL.fullmatch(text):
        return in_range(int(text, 16))
    if kind == "number":
        raise Damaged("value" if _IDENTIFIER.fullmatch(text) else TYPE)
    return _TRUTH[text.lower()] if text.lower() in _TRUTH else checked_text(text)


def number_of(text: str) -> float | None:
    """Return the number in a string, or None if the string is not a number.

    Common notations used by people and devices are accepted, such as `+ 21,50`, `.5` and `1e3`. A
    string of 20 or more digits counts as an identifier and not as a number, because a float would
    lose digits.

    Raises:
        Damaged: with reason "value" if the number is out of range.
    """
    text = _AFTER_SIGN.sub("", text.strip().translate(_MINUS))
    if _GROUPED.fullmatch(text):
        decimal = max(text.rfind("."), text.rfind(","))
        if "'" in text:
            return in_range(float(text.replace("'", "")))
        whole, fraction = text[:decimal], text[decimal + 1 :]
        return in_range(float(re.sub("[.,]", "", whole) + "." + fraction))
    if _INTEGER.fullmatch(text):
        return in_range(int(text))
    if _DECIMAL.fullmatch(text) and not _IDENTIFIER.fullmatch(text):
        return in_range(float(text.replace(",", ".")))
    return None


def is_nothing(text: str) -> bool:
    """Return True if a sensor writes this string when it has no measured value."""
    return not text.strip() or _NOTHING.fullmatch(text.strip()) is not None


def name_for(text: str) -> str:
    """Derive a quantity's name from a device's label: "Temperature (°C)" becomes `Temperature_C`.

    The result is not always a valid name: it may be empty or too long.
    """
    if is_name(text):
        return text
    if any("\ud800" <= each <= "\udfff" for each in text):
        return ""  # The name is damaged: it has a byte that is not UTF-8.
    plain = "".join(
        each for each in unicodedata.normalize("NFKD", text) if not unicodedata.combining(each)
    )
    return _NO_NAME.sub("_", plain).strip("_")


def in_range(value: float) -> float:
    """Return the number if it is in range.

    Raises:
        Damaged: with reason "value" if the number is not finite or has more than 64 bits.
    """
    if isinstance(value, int):
        if abs(value) > INTEGER_MAX:
            raise Damaged("value")
    elif not math.isfinite(value):
        raise Damaged("value")
    return value


def converted(value: Value, kind: Kind | None) -> Value:
    """Convert a value to the data type `kind`.

    For example, 1 becomes the Boolean True, and True becomes the text "true".

    Raises:
        Damaged: with reason "type" if the conversion is not possible.
    """
    own = kind_of(value)
    if kind is None or kind == own:
        return value
    if kind == "text":
        return str(value).lower() if own == "boolean" else str(value)
    if kind == "number" and own == "boolean":
        return int(value)
    if kind == "boolean" and value in (0, 1):
        return bool(value)
    raise Damaged(TYPE)
