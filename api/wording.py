"""Formats numbers, ages and names for people to read.

Some characters could hide or reorder other characters in a name. These characters are made visible.
A formatted name has at most ``SHOWN_CHARACTERS_MAX`` characters, followed by the number of
characters left out. HTML is escaped later, by the templates. This module does no I/O.
"""

import struct
import unicodedata
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from itertools import groupby
from typing import Final

from markupsafe import Markup

from api import limits
from api.models.bridge import Device
from api.models.broker import Listener

# SenML's unit names (RFC 8428 section 12.1) that people write differently.
_UNIT_SYMBOLS: Final = {
    "Cel": "°C",
    "%RH": "% RH",
    "%EL": "%",
    "lat": "°",
    "lon": "°",
    "m2": "m²",
    "m3": "m³",
    "m/s2": "m/s²",
    "W/m2": "W/m²",
    "Ohm": "Ω",
    "1/s": "/s",
    "/": "",
}

# Invisible or direction-changing: control, format, surrogate, private use, unassigned, separators.
_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})

# docs/formats/readings.md: the low 32 bits are the board's own count of its starts; the bits above
# count how often the board has repeated that count. Only boards have such counts.
_BOOT_BITS: Final = 32
_BOARDS: Final = "board-"

# Nine digits distinguish any two float32.
_FLOAT32_DIGITS_MAX: Final = 9
_FLOAT32_MAX: Final = 3.4e38

# Numbers outside this range are written with an exponent, which is shorter for them.
_PLAIN_FROM: Final = 1e-9
_PLAIN_BELOW: Final = 1e16

# Combining marks beyond two on one letter overlap the neighbouring lines.
_MARKS_MAX: Final = 2


def visible_of(text: str, characters_max: int = limits.SHOWN_CHARACTERS_MAX) -> str:
    r"""Make an untrusted name readable: escape hidden characters, and shorten a long name.

    A hidden character is shown as ``\u{202e}``, for example.
    """
    runs = groupby(_escaped_characters_of(text[:characters_max]))
    shown = "".join(_run_of(character, len(list(run))) for character, run in runs)
    rest = len(text) - characters_max
    return f"{shown}… and {rest:,} more characters" if rest > 0 else shown


def _escaped_characters_of(text: str) -> Iterator[str]:
    """Yield the characters of a text. Hidden characters are replaced with their escapes.

    Combining marks after the first _MARKS_MAX in a row are also escaped.
    """
    marks = 0
    for character in text:
        marks = marks + 1 if unicodedata.combining(character) else 0
        if unicodedata.category(character) in _HIDDEN_CATEGORIES or marks > _MARKS_MAX:
            yield f"\\u{{{ord(character):x}}}"
        else:
            yield character


def _run_of(character: str, count: int) -> str:
    """Return text for a character that is repeated `count` times in a row.

    `character` is the character or its escape. An escape is not repeated, but followed by the
    number of repetitions.
    """
    is_plain = len(character) == 1 or count == 1
    return character * count if is_plain else f"{character}\N{MULTIPLICATION SIGN}{count}"


def sentence_of(text: str) -> str:
    """Make a sentence from another process readable. Hidden characters are escaped.

    If the sentence is longer than SENTENCE_CHARACTERS_MAX, it is shortened.
    """
    return visible_of(text, limits.SENTENCE_CHARACTERS_MAX)


def marked_of(text: str) -> Markup:
    """Convert a message to escaped HTML. Words in backquotes become code elements."""
    parts = text.split("`")
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if index % 2 else part
        for index, part in enumerate(parts)
    )


def duration_of(seconds: float) -> str:
    """Format a duration as ``0.4 s``, ``12 s``, ``3 min``, ``2 h 5 min`` or ``4 d 3 h``."""
    if seconds < 1:
        return _unbroken(f"{seconds:.1f} s")
    if seconds < 120:
        return _unbroken(f"{int(seconds)} s")
    minutes = int(seconds // 60)
    if minutes < 60:
        return _unbroken(f"{minutes} min")
    if minutes < 24 * 60:
        return _unbroken(f"{minutes // 60} h {minutes % 60} min")
    days, hours = divmod(minutes // 60, 24)
    return _unbroken(f"{days} d {hours} h" if days < 10 else f"{days:,} days")


def age_of(then_ms: int, *, now_ms: int) -> str:
    """Format the time since `then_ms`. The current time is the keyword argument `now_ms`.

    If `then_ms` is in the future, the text ends with ``ahead``.
    """
    seconds = (now_ms - then_ms) / 1000
    if seconds < -1:
        return f"{duration_of(-seconds)} ahead"
    return duration_of(max(seconds, 0.0))


def time_of(milliseconds: int) -> datetime:
    """Convert milliseconds since 1970 to a time in UTC."""
    return datetime.fromtimestamp(milliseconds / 1000, tz=UTC)


def iso_of(milliseconds: int) -> str:
    """Format a time in milliseconds since 1970 as ``2026-11-21T09:14:03Z``, for programs."""
    return time_of(milliseconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def clock_of(milliseconds: int) -> str:
    """Format a time in milliseconds since 1970 as ``2026-11-21 09:14:03 UTC``."""
    return time_of(milliseconds).strftime("%Y-%m-%d %H:%M:%S UTC")


def moment_of(milliseconds: int) -> str:
    """Format a time as ``11-21 09:14:03.250`` in UTC, for log lines.

    The milliseconds are included because log lines often follow each other within a second.
    """
    return time_of(milliseconds).strftime("%m-%d %H:%M:%S.%f")[:-3]


def count_of(number: int | None) -> str:
    """Format a count as ``1,234``, and None as ``unknown``."""
    return "unknown" if number is None else f"{number:,}"


def share_of(share: float) -> str:
    """Format a fraction as a percentage, such as ``25 %`` for 0.254, or ``below 1 %`` for 0.004."""
    return _unbroken("below 1 %" if 0 < share < 0.005 else f"{100 * share:.0f} %")


def counted_of(number: int, thing: str) -> str:
    """Format a number with its noun, as ``1 segment`` or ``12 segments``."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {thing}s"


def bytes_of(number: int) -> str:
    """Format a number of bytes as ``812 B``, ``40.0 KiB`` or ``1.5 GiB``."""
    if number < 1024:
        return _unbroken(f"{number} B")
    size = float(number)
    for unit in ("KiB", "MiB", "GiB"):
        size /= 1024
        if size < 1024:
            return _unbroken(f"{size:.1f} {unit}")
    return _unbroken(f"{size / 1024:,.1f} TiB")


def bytewise_of(digits: str) -> str:
    """Format hexadecimal digits as ``24 47 50``, so that lines can break between bytes."""
    return " ".join(digits[at : at + 2] for at in range(0, len(digits), 2))


def printable_of(digits: str) -> str:
    """Decode hexadecimal digits as ASCII text, with a dot for each byte that is not printable.

    Return an empty string if more than a quarter of the bytes are not printable.
    """
    try:
        data = bytes.fromhex(digits)
    except ValueError:
        return ""
    shown = "".join(chr(each) if 32 <= each < 127 else "·" for each in data)
    return shown if shown.count("·") * 4 <= len(shown) else ""


def _unbroken(text: str) -> str:
    """Replace spaces with no-break spaces, so that a number and its unit stay on one line."""
    return text.replace(" ", "\N{NO-BREAK SPACE}")


def value_of(value: int | float | bool | str | None) -> str:
    """Format the value of a reading. A float keeps the digits that the sensor sent."""
    match value:
        case None:
            return "no value"
        case bool():
            return "true" if value else "false"
        case str():
            return visible_of(value)
        case int():
            return f"{value:,}"
        case _:
            return _number_of(value)


def _number_of(value: float) -> str:
    """Format a float with the fewest digits that represent it.

    A sensor's float32 may have been converted to a float64. For example, 21.3 arrives as
    21.299999237060547, but is formatted with the fewest digits that represent the float32: 21.3.
    """
    shown = Decimal(repr(value))
    if len(shown.as_tuple().digits) > _FLOAT32_DIGITS_MAX and _is_float32(value):
        shown = next(
            short
            for digits in range(6, _FLOAT32_DIGITS_MAX + 1)
            if _as_float32(float(short := Decimal(f"{value:.{digits}g}"))) == value
        )
    if not _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        return "0" if value == 0 else f"{float(shown)!r}"
    whole, _, fraction = f"{shown:f}".partition(".")
    fraction = fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def _is_float32(value: float) -> bool:
    """Return True if a float might have been converted from a float32.

    Integers below 1e16 are excluded, because all of their digits must be shown.
    """
    is_exact = value.is_integer() and abs(value) < _PLAIN_BELOW
    return not is_exact and abs(value) <= _FLOAT32_MAX and _as_float32(value) == value


def _as_float32(value: float) -> float:
    (rounded,) = struct.unpack("<f", struct.pack("<f", value))
    return float(rounded)


def unit_of(unit: str | None) -> str:
    """Format a unit for people, such as ``Cel`` as ``°C``. Unknown units are unchanged."""
    return visible_of(_UNIT_SYMBOLS.get(unit, unit)) if unit is not None else ""


def quantity_name_of(name: str) -> str:
    """Format a name for people: ``water_level`` becomes ``water level``."""
    return visible_of(name.replace("_", " "))


def address_of(listener: Listener) -> str:
    """Format a listener as ``127.0.0.1:1883``, ``[::1]:8083/mqtt (websocket)`` or a path.

    With TLS, the text also states for how many days the certificate is valid, as in ``0.0.0.0:8883
    (mqtts, certificate for 59 days)``.
    """
    bind = listener.bind or "*"
    host = f"[{bind}]" if ":" in bind else bind
    network = "" if listener.port is None else f"{host}:{listener.port}"
    where = network + (listener.path or "")
    notes = [] if listener.protocol == "mqtt" else [listener.protocol]
    if listener.certificate is not None:
        days = listener.certificate.days_left
        notes.append("certificate expired" if days < 0 else f"certificate for {days} days")
    return visible_of(f"{where} ({', '.join(notes)})" if notes else where)


def start_of(device: Device) -> str:
    """Format a device's start number: ``start 3``, or ``start 3 (numbers reused, start 2)``.

    The second form is used if the board has repeated the sequence numbers of an earlier start.
    """
    if device.boot is None:
        return "start unknown"
    again, own = divmod(device.boot, 1 << _BOOT_BITS)
    if not again or not device.device.startswith(_BOARDS):
        return f"start {device.boot:,}"
    return f"start {own:,} (numbers reused, start {again:,})"


def protocol_of(level: int) -> str:
    """Return the MQTT version for a protocol level in CONNECT."""
    return {3: "3.1", 4: "3.1.1", 5: "5.0"}.get(level, f"level {level}")
