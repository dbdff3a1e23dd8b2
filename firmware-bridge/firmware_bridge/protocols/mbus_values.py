"""Unit codes and number formats of M-Bus (EN 13757-3)."""

import datetime
import struct
from collections.abc import Sequence
from typing import Final, NamedTuple

from firmware_bridge.protocols.frame import Damaged


class Meaning(NamedTuple):
    """The name and unit of a value, and the scale of its number.

    The number is multiplied by 10 to the power of `power_of_ten`, and by `factor`. `form` is
    "number", "time", "text", or "bits" for an unsigned integer.
    """

    name: str
    unit: str | None = None
    power_of_ten: int = 0
    form: str = "number"
    factor: int = 1


DURATIONS: Final = ("s", "min", "h", "d")
_RANGES: Final[Sequence[tuple[int, int, str, str, int, int]]] = (
    # first code, count, name, unit, power of ten of the first code, factor
    (0x00, 8, "energy", "kWh", -6, 1),
    (0x08, 8, "energy", "J", 0, 1),
    (0x10, 8, "volume", "m3", -6, 1),
    (0x18, 8, "mass", "kg", -3, 1),
    (0x28, 8, "power", "W", -3, 1),
    (0x30, 8, "power", "J/h", 0, 1),
    (0x38, 8, "volume_flow", "m3/h", -6, 1),
    (0x40, 8, "volume_flow", "m3/min", -7, 1),
    (0x48, 8, "volume_flow", "m3/s", -9, 1),
    (0x50, 8, "mass_flow", "kg/h", -3, 1),
    (0x58, 4, "flow_temperature", "Cel", -3, 1),
    (0x5C, 4, "return_temperature", "Cel", -3, 1),
    (0x60, 4, "temperature_difference", "K", -3, 1),
    (0x64, 4, "external_temperature", "Cel", -3, 1),
    (0x68, 4, "pressure", "hPa", -3, 1000),
)
_PLAIN: Final = {
    **{
        first + offset: Meaning(name, unit, power + offset, "number", factor)
        for first, count, name, unit, power, factor in _RANGES
        for offset in range(count)
    },
    **{
        first + offset: Meaning(name, unit)
        for first, name in ((0x20, "on_time"), (0x24, "operating_time"),
                            (0x70, "averaging_duration"), (0x74, "actuality_duration"))
        for offset, unit in enumerate(DURATIONS)
    },
    0x6C: Meaning("date", form="time"), 0x6D: Meaning("date_time", form="time"),
    0x6E: Meaning("heat_cost"), 0x78: Meaning("fabrication_number", form="text"),
    0x79: Meaning("identification", form="text"), 0x7A: Meaning("bus_address", form="bits"),
}  # fmt: skip
_FB: Final = {
    0x00: Meaning("energy", "kWh", 2), 0x01: Meaning("energy", "kWh", 3),
    0x02: Meaning("reactive_energy", "kvarh", 0), 0x03: Meaning("reactive_energy", "kvarh", 1),
    0x04: Meaning("apparent_energy", "kVAh", 0), 0x05: Meaning("apparent_energy", "kVAh", 1),
    0x08: Meaning("energy", "J", 8), 0x09: Meaning("energy", "J", 9),
    0x10: Meaning("volume", "m3", 2), 0x11: Meaning("volume", "m3", 3),
    0x18: Meaning("mass", "kg", 5), 0x19: Meaning("mass", "kg", 6),
    0x1A: Meaning("humidity", "%RH", -1), 0x1B: Meaning("humidity", "%RH", 0),
    0x28: Meaning("power", "W", 5), 0x29: Meaning("power", "W", 6),
    **{0x14 + n: Meaning("reactive_power", "kvar", n - 3) for n in range(4)},
    **{0x2C + n: Meaning("frequency", "Hz", n - 3) for n in range(4)},
    **{0x34 + n: Meaning("apparent_power", "kVA", n - 3) for n in range(4)},
}  # fmt: skip
_FD: Final = {
    0x08: Meaning("access_number", form="bits"), 0x09: Meaning("medium_code", form="bits"),
    0x0A: Meaning("maker_code", form="bits"),
    0x0B: Meaning("parameter_set", form="text"), 0x0C: Meaning("model", form="text"),
    0x0D: Meaning("hardware_version", form="text"), 0x0E: Meaning("firmware", form="text"),
    0x0F: Meaning("software_version", form="text"), 0x11: Meaning("customer", form="text"),
    0x17: Meaning("error_flags", form="bits"), 0x1A: Meaning("digital_output", form="bits"),
    0x1B: Meaning("digital_input", form="bits"),
    0x3A: Meaning("value"), 0x60: Meaning("resets"), 0x61: Meaning("cumulations"),
    0x70: Meaning("battery_change_time", form="time"), 0x71: Meaning("signal_strength", "dBm"),
    0x74: Meaning("battery_days", "d"),
    **{0x40 + n: Meaning("voltage", "V", n - 9) for n in range(16)},
    **{0x50 + n: Meaning("current", "A", n - 12) for n in range(16)},
}  # fmt: skip
_NO_NUMBER: Final = b"\x80"
"""Highest byte of a signed number that is not available (EN 13757-3, type B). The others are 0."""
_YEARS, _LAST_YEAR_OF_2000 = 100, 80
"""Number of years in a date, and the last one that EN 13757-3 counts from 2000."""
TABLES: Final = {None: _PLAIN, 0xFB: _FB, 0xFD: _FD}


def number_of(data: bytes, form: int) -> float:
    """Decode a number. `form` is the code of the number format in the DIF.

    Formats 1 to 7 are binary (format 5 is a float), and formats 9 to 14 are BCD.

    Raises:
        Damaged: with reason "not_measured" if the meter has no value. Binary numbers then have only
            their highest bit set. With reason "value" if a BCD digit is invalid.
    """
    if form == 5:
        (number,) = struct.unpack("<f", data)
        return float(f"{number:.7g}")
    if form > 8:
        return bcd_of(data)
    if data[-1:] == _NO_NUMBER and not any(data[:-1]):
        raise Damaged("not_measured")
    return int.from_bytes(data, "little", signed=True)


def bcd_of(data: bytes) -> int:
    """Decode a little-endian BCD number. An F as the most significant digit is a minus sign.

    Raises:
        Damaged: with reason "not_measured" if all digits are the same letter, as in EEEE, or with
            reason "value" if only some digits are invalid.
    """
    digits = data[::-1].hex()
    if digits.isalpha() and len(set(digits)) == 1:
        raise Damaged("not_measured")
    is_negative = digits.startswith("f")
    digits = digits[1:] if is_negative else digits
    if not digits.isdecimal():
        raise Damaged("value")
    return -int(digits) if is_negative else int(digits)


def clock_of(data: bytes) -> str:
    """Decode a date, a time, or both, as the meter's clock shows it. The length gives the type.

    Raises:
        Damaged: with reason "time" if the time does not exist, if the meter marks it as invalid, or
            if the type is unknown.
    """
    if len(data) == 2:
        return date_of(data)
    if len(data) == 4:
        return time_of(data)
    if len(data) == 3 and data[0] < 60 and data[1] < 60 and data[2] < 24:
        return f"{data[2]:02}:{data[1]:02}:{data[0]:02}"  # type J
    if len(data) == 6:
        return _time_with_seconds_of(data)
    raise Damaged("time")


def date_of(data: bytes) -> str:
    """Decode a date (type G) as `YYYY-MM-DD`. The years 81 to 99 are in the 20th century.

    Raises:
        Damaged: with reason "time" if the date does not exist.
    """
    day, month = data[0] & 31, data[1] & 15
    year = (data[0] >> 5) | (data[1] >> 4) << 3
    if year >= _YEARS:
        raise Damaged("time")
    try:
        century = 1900 if year > _LAST_YEAR_OF_2000 else 2000
        return datetime.date(century + year, month, day).isoformat()
    except ValueError:
        raise Damaged("time") from None


def time_of(data: bytes) -> str:
    """Decode a time (type F) as `YYYY-MM-DD hh:mm`, as the meter's clock shows it.

    Raises:
        Damaged: with reason "time" if the time does not exist or the meter marks it as invalid.
    """
    minute, hour = data[0] & 63, data[1] & 31
    if data[0] & 0x80 or minute > 59 or hour > 23:
        raise Damaged("time")
    return f"{date_of(data[2:])} {hour:02}:{minute:02}"


def _time_with_seconds_of(data: bytes) -> str:
    """Decode a time (type I) as `YYYY-MM-DD hh:mm:ss`. The last of the 6 bytes is the week."""
    second, minute, hour = data[0] & 63, data[1] & 63, data[2] & 31
    if data[1] & 0x80 or second > 59 or minute > 59 or hour > 23:
        raise Damaged("time")
    return f"{date_of(data[3:5])} {hour:02}:{minute:02}:{second:02}"


def maker_of(code: int) -> str:
    """Return the three-letter name of a manufacturer, given its 16-bit code."""
    return "".join(chr(64 + (code >> shift & 31)) for shift in (10, 5, 0))
