"""Names and categories of values in Home Assistant.

For example, `mbus_1_reading` gets the name "Gas reading".
"""

import re
from collections.abc import Mapping
from typing import Final

_CODE = re.compile(r"[0-9]+-[0-9]+:.*")
_MBUS = re.compile(r"mbus_([0-9]+)_(.+)")
_BETWEEN = re.compile(r"[_ ]+")
_PHASE_OR_TARIFF = re.compile(r"[lt][0-9]{1,2}")
_IN_CAPITALS: Final = frozenset(
    {"id", "ean", "p1", "co2", "tvoc", "uv", "rssi", "gps", "url", "ph"}
)
_DIAGNOSTIC = re.compile(
    r"(?:.+[_/])?(?:id|ean|version|firmware|manufacturer|model|serial|serial_number|meter_number"
    r"|public_key|logical_device)|mbus_[0-9]+_type"
)
_MEDIA: Final[Mapping[int, str]] = {
    3: "gas",
    4: "heat",
    6: "water",
    7: "water",
    12: "heat",
    21: "water",
    22: "water",
}
"""Media by M-Bus device type (EN 13757-3). Cold, warm and hot water all count as water."""
_MEDIA_OF_OBIS: Final[Mapping[str, str]] = {
    "5": "heat",
    "6": "heat",
    "7": "gas",
    "8": "water",
    "9": "water",
}
"""Media by the first number of an OBIS code (IEC 62056-61)."""
_METERED = re.compile(r"(?:.+_)?(gas|water)_(?:meter|total|reading|consumption|volume)")
_REGISTER = re.compile(
    r"(?:(?:reactive_|apparent_)?energy|yield)_(?:import|export|total|today)(?:_.+)?"
    r"|energy_(?:charged|discharged)"
)
"""Names of energy counters in meters and inverters, in any protocol. A counter of "today" restarts
every day. `charged` and `discharged` are those of a battery.
"""


_INTERVAL = re.compile(
    r"interval_values(?:/.+)?|[0-9]+-[0-9]+:[0-9]+\.(?:29(?:\..+)?|8\.[0-9]+\.9[6-9])"
    r"|.+_(?:max|min|error)(?:_.+)?"
)
"""Names and OBIS codes of amounts in one interval of a load profile (IEC 62056-61: D is 29), and in
the last 1, 7, 30 and 365 days (the German basic meter of FNN: F is 96 to 99), and names of M-Bus
values that are a maximum, a minimum, or the value during an error."""
_NET = re.compile(r"energy_net(?:_.+)?|1-[0-9]+:(?:16|36|56|76)\.8\..+")
_DIFFERENCE = re.compile(r"(?:.+_)?temperature_difference(?:_.+)?")


def is_interval(name: str) -> bool:
    """Return True if a value with this name is an amount in one interval, or an extreme value.

    Such a value is not a counter, because it may decrease.
    """
    return _INTERVAL.fullmatch(name) is not None


def is_net(name: str) -> bool:
    """Return True for a counter of imported minus exported energy, which can decrease."""
    return _NET.fullmatch(name) is not None


def is_difference(name: str) -> bool:
    """Return True for a difference of temperatures.

    Home Assistant would convert 5 K of the device class `temperature` to -268.15 °C.
    """
    return _DIFFERENCE.fullmatch(name) is not None


def is_register(name: str) -> bool:
    """Return True if a value with this name is an energy counter.

    Home Assistant's energy dashboard can use such a value.
    """
    return _REGISTER.fullmatch(name) is not None


def medium_of(name: str, facts: Mapping[str, str]) -> str | None:
    """Return the medium that a value measures: "gas", "water" or "heat".

    Return None if it is unknown, or if the value is the amount of one interval. `facts` contains
    the types of the meters that the device reads. For example, an `mbus_1_type` of `003` means gas.
    """
    if is_interval(name):
        return None
    part = _MBUS.fullmatch(name)
    if part is not None:
        kind = facts.get(f"mbus_{part[1]}_type", "")
        return _MEDIA.get(int(kind)) if kind.isascii() and kind.isdecimal() else None
    if _CODE.fullmatch(name) is not None:
        return _MEDIA_OF_OBIS.get(name.partition("-")[0])
    metered = _METERED.fullmatch(name)
    return None if metered is None else metered[1]


def friendly_name_of(name: str, facts: Mapping[str, str]) -> str:
    """Return a readable name for a value, such as "Energy import T1" for `energy_import_t1`.

    An OBIS code is returned unchanged. `facts` contains the types of the meters that the device
    reads.
    """
    if _CODE.fullmatch(name) is not None:
        return name
    part = _MBUS.fullmatch(name)
    if part is not None:
        words = [medium_of(name, facts) or f"M-Bus {part[1]}", *_words_of(part[2])]
    else:
        # NMEA 0183 names have a sentence and a field: "gga/alt".
        sentence, _, field = name.rpartition("/")
        words = [*([sentence.upper()] if sentence else []), *_words_of(field)]
    shown = " ".join(words) or name
    return shown[0].upper() + shown[1:]


def is_diagnostic(name: str) -> bool:
    """Return True if a value describes the device itself, such as its version or an identifier."""
    return _DIAGNOSTIC.fullmatch(name) is not None


def _words_of(name: str) -> list[str]:
    words = [each for each in _BETWEEN.split(name) if each]
    return [
        each.upper() if each in _IN_CAPITALS or _PHASE_OR_TARIFF.fullmatch(each) else each
        for each in words
    ]
