"""The lines of one DSMR telegram -> measurements.

A time is `YYMMDDhhmmss` and S or W, for summer and winter time. That of the telegram holds for all
that has none of its own. One without the letter (before DSMR 4) does not show which hour it is,
and is left out.
"""

import datetime
import re

from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.obis import COUNTS, name_of
from firmware_bridge.readings.measurement import MEASUREMENTS_MAX, Measurement, Quantities

_OBJECT = re.compile(
    r"([0-9]{1,3}-[0-9]{1,3}:[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3})(?:\*255)?((?:\([^()]*\))+)"
)
_VALUE = re.compile(r"\(([^()]*)\)")
_NUMBER = re.compile(r"-?[0-9]{1,15}(\.[0-9]{1,6})?")
_WITH_UNIT = re.compile(rf"({_NUMBER.pattern})\*([A-Za-z0-9]{{1,8}})")
_TIME = re.compile(r"[0-9]{12}[SW]")
_HOURLY_READING = "24.3.0"
"""Of DSMR 2.2: (time)(..)(..)(..)(code of the reading)(unit), and on the next line (value)."""


def read_telegram(head: bytes, utc_offset_hours: int) -> Quantities:
    """Read what stands before the '!' of a telegram.

    Raises:
        Damaged: "text" for other characters than ASCII's, "syntax" for a line that is no object,
            "time", "overlong".
    """
    try:
        _, *lines = head.decode("ascii").split("\n")
    except UnicodeDecodeError:
        raise Damaged("text") from None
    objects = _objects_in(lines)
    if len(objects) > MEASUREMENTS_MAX:
        raise Damaged("overlong")
    times = [groups[0] for name, groups in objects if name == "meter_time"]
    now = _seconds_of(times[0], utc_offset_hours) if times and _TIME.fullmatch(times[0]) else None
    quantities: Quantities = {}
    for name, groups in objects:
        measurement = _measurement_of(name, groups, now, utc_offset_hours)
        if measurement is not None:
            quantities.setdefault(measurement.name, []).append(measurement)
    return quantities


def _objects_in(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Return the names and the values in parentheses."""
    objects: list[tuple[str, list[str]]] = []
    for line in (each.strip() for each in lines):
        found = _OBJECT.fullmatch(line)
        if found is not None:
            objects.append((name_of(found[1]), _VALUE.findall(found[2])))
        elif objects and _VALUE.fullmatch(line):
            objects[-1][1].append(line[1:-1])
        elif line:
            raise Damaged("syntax")
    return objects


def _measurement_of(
    name: str, groups: list[str], now: float | None, utc_offset_hours: int
) -> Measurement | None:
    """Return None for what the meter left empty."""
    if name.endswith(_HOURLY_READING) and len(groups) == 7 and _NUMBER.fullmatch(groups[6]):
        channel = name.partition(":")[0]
        return _quantity(name_of(f"{channel}:24.2.1"), groups[6], groups[5], None)
    if (
        len(groups) == 2
        and _TIME.fullmatch(groups[0])
        and (found := _WITH_UNIT.fullmatch(groups[1]))
    ):
        return _quantity(name, found[1], found[3], _seconds_of(groups[0], utc_offset_hours))
    if len(groups) > 1:
        return Measurement(name, "".join(f"({group})" for group in groups), None, now)
    text = groups[0]
    found = _WITH_UNIT.fullmatch(text)
    if found is not None:
        return _quantity(name, found[1], found[3], now)
    if name in COUNTS and _NUMBER.fullmatch(text):
        return _quantity(name, text, None, now)
    return Measurement(name, text, None, now) if text else None


def _quantity(name: str, number: str, unit: str | None, time_seconds: float | None) -> Measurement:
    value = float(number) if "." in number else int(number)
    if unit == "GJ":  # Not among SenML's units.
        value, unit = round(value * 1e9), "J"
    return Measurement(name, value, unit, time_seconds)


def _seconds_of(text: str, utc_offset_hours: int) -> float:
    """Convert a time with S or W to seconds since 1970."""
    offset = datetime.timedelta(hours=utc_offset_hours + (text[-1] == "S"))
    try:
        local = datetime.datetime.strptime(text[:-1], "%y%m%d%H%M%S")  # noqa: DTZ007 - next line
        return local.replace(tzinfo=datetime.timezone(offset)).timestamp()
    except (ValueError, OverflowError):
        raise Damaged("time") from None
