"""Units that sketches (Arduino programs) print after a number, as in `t=21.5C humidity=40%`."""

import re
from typing import Final

from gateway.process.declarations.units import unit_meant_by

UNITS: Final = frozenset({
    "%", "%RH", "C", "*C", "\N{DEGREE SIGN}C", "F", "*F", "\N{DEGREE SIGN}F", "K", "V", "mV", "A",
    "mA", "uA", "W", "mW", "kW", "MW", "kWh", "MWh", "Wh", "VA", "var", "Hz", "kHz", "Pa", "hPa",
    "kPa", "mbar", "bar", "psi", "inHg", "ppm", "ppb", "dB", "dBm", "lx", "lux", "mm", "cm", "m",
    "km", "in", "m/s", "km/h", "mph", "kn", "s", "ms", "min", "h", "g", "kg", "mg", "l", "L", "ml",
    "mL", "m3", "l/min", "L/min", "m3/h", "mm/h", "ug/m3", "mg/m3", "g/m3", "Bq/m3", "Ohm", "kOhm",
    "MOhm", "uS/cm", "mS/cm", "'C", "VDC", "VAC", "lb", "lbs", "oz",
    "inches", "Ohms", "kOhms", "KOhm", "KOhms", "uSv/h", "uSv/hr", "mSv/h", "nSv/h", "mb", "mmHg",
    "meters", "metres", "ft", "feet", "knots", "kts", "uT", "rad/s", "Fahrenheit",
})  # fmt: skip
"""Units in SenML notation, or as devices print them. `unit_meant_by` recognizes further units."""
_MEANT: Final = {
    "C": "Cel", "*C": "Cel", "F": "degF", "*F": "degF", "\N{DEGREE SIGN}F": "degF", "L": "l",
    "mL": "ml", "L/min": "l/min", "lux": "lx", "'C": "Cel", "VDC": "V", "VAC": "V", "lbs": "lb",
    "inches": "in", "kOhms": "kOhm", "KOhm": "kOhm", "KOhms": "kOhm", "uSv/hr": "uSv/h",
    "mb": "hPa", "meters": "m", "metres": "m", "feet": "ft", "knots": "kn", "kts": "kn",
    "Fahrenheit": "degF",
}  # fmt: skip
_ALIKE: Final = str.maketrans({
    "\N{MICRO SIGN}": "u", "\N{GREEK SMALL LETTER MU}": "u", "\N{SUPERSCRIPT THREE}": "3",
    "\N{SUPERSCRIPT TWO}": "2", "\N{OHM SIGN}": "Ohm", "\N{GREEK CAPITAL LETTER OMEGA}": "Ohm",
    "\N{MASCULINE ORDINAL INDICATOR}": "\N{DEGREE SIGN}", "\N{RING ABOVE}": "\N{DEGREE SIGN}",
    "\N{DEGREE FAHRENHEIT}": "\N{DEGREE SIGN}F", "\N{FULLWIDTH PERCENT SIGN}": "%",
})  # fmt: skip
"""Signs that mean the same. Some keyboards have a sign of ordinals or a ring, but no degree."""
_DEGREES: Final = re.compile(
    r"(?i:degrees?|deg\.?|[\N{DEGREE SIGN}\N{MASCULINE ORDINAL INDICATOR}\N{RING ABOVE}*])"
    r"[ \t]+([CF])(?![^\s;|&,)])"
)
_HUMIDITY: Final = re.compile(r"%[ \t]*(?i:rh|hr|rf|r\.[hf]\.)(?![^\s;|&,)]|[ \t]*[=:])")
"""Relative humidity, also in German (`r. F.`), and in French and Spanish (`HR`)."""
_GLUED: Final = re.compile(
    r"([+\N{MINUS SIGN}\N{EN DASH}-]?[ \t]*"
    r"(?:[0-9]{1,3}(?:,[0-9]{3})+\.[0-9]+|[0-9]+(?:[.,][0-9]+)?|[.,][0-9]+)(?:[eE][+-][0-9]{1,2})?"
    r"|[+-]?(?i:nan|inf|ovf)|-[-.]*-|\*{2,})[ \t]*([^0-9.,\s].*)"
)
"""A number, or what a sensor writes in place of a number, and a unit."""
_HEXADECIMAL: Final = frozenset("ABCDEF")


def split_unit(text: str) -> tuple[str, str | None]:
    """Split text such as `21.5C` or `nan%` into the number, or its placeholder, and the unit.

    If the text is not a number with a unit, return the whole text and None. A letter that is also a
    hexadecimal digit counts as a unit only after a number with a decimal point. For example, `12A`
    is not split, because it could be a hexadecimal identifier.
    """
    if not text.lstrip("+-.,0123456789"):
        return text, None
    found = _GLUED.fullmatch(text.strip())
    unit = None if found is None else unit_of(found[2])
    if found is None or unit is None:
        return text, None
    if found[2] in _HEXADECIMAL and found[1].isdecimal():
        return text, None
    return found[1], unit


def unit_of(text: str) -> str | None:
    """Return the unit that `text` stands for, such as "Cel" for "C".

    Return None if the text is not a unit.
    """
    text = with_short_units(text)
    plain = text.translate(_ALIKE)
    known = unit_meant_by(plain) or unit_meant_by(text)
    return known or (_MEANT.get(plain, plain) if plain in UNITS else None)


def with_short_units(text: str) -> str:
    """Replace units of two words, such as `degrees C` and `% rH`, by `*C` and `%RH`."""
    return _HUMIDITY.sub("%RH", _DEGREES.sub(r"*\1", text))
