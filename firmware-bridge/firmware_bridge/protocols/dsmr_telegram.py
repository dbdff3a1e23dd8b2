"""Converts the objects of a DSMR telegram to measurements.

An object that cannot be read is counted and skipped, and all other objects are read. If a telegram
has a checksum, the decoder has already verified it. In this case, an unreadable object is a
peculiarity of the meter, and not a transmission error.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from firmware_bridge.protocols.dsmr_objects import TelegramObject, is_quantity, objects_in
from firmware_bridge.protocols.dsmr_time import is_time, seconds_of
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.joined_units import split_unit
from firmware_bridge.protocols.obis import Code, is_log, is_past, name_of
from firmware_bridge.protocols.text_values import NOT_MEASURED, is_nothing, number_of, value_of
from firmware_bridge.readings.device_clock import EARLIEST_LOGGED
from firmware_bridge.readings.measurement import Measurement, Quantities, Value
from firmware_bridge.readings.scaling import OutOfRange, scaled
from gateway.process.declarations.units import unit_meant_by

_WITH_UNIT = re.compile(r"([^*]*)\*\s*([^\s*]{1,16})\s*")
_HOURLY_READING = "24.3.0"
"""Code of an hourly reading in DSMR 2.2: (time)(..)(..)(..)(code)(unit), (value) on the next line.
"""
_HOURLY_GROUPS = 7
_UNITS = {
    "C": "Cel", "m3ph": "m3/h", "P/S": "/", "v": "V", "a": "A", "w": "W", "dm3": "l", "L": "l",
}  # fmt: skip
"""Units of heat meters (in SenML, C would be an electric charge), of a power factor in EMH meters,
in lower case, and of water meters."""
_POWERS_OF_TEN = {"GJ": ("J", 9), "kV": ("V", 3), "kA": ("A", 3), "kHz": ("Hz", 3)}
"""Units of heat meters and of meters in Lithuania that SenML does not have, and what they mean."""
_STATUS = re.compile(r"[0-9A-Fa-f]{1,8}")
"""The status of an entry of a load profile. It has fewer digits than a time."""
_PEAK, _PEAK_MONTHS = "1-0:1.6.0", "power_peak_months"


def read_telegram(head: bytes, utc_offset_hours: int, skipped: Counter[str]) -> Quantities:
    """Parse a telegram. `head` contains the telegram up to its '!'.

    `utc_offset_hours` is the offset of the meter's local time from UTC in winter.
    `skipped` counts skipped objects by reason. The reason is "text" if a line has a character that
    is not ASCII, "syntax" if a line is not an object, "type" if an expected number is missing,
    "time" or "value" if a time or value is invalid, and "not_measured" if the meter has no value.
    """
    objects = objects_in(head, skipped)
    now = next((_now_of(each, utc_offset_hours) for each in objects if each.name == "meter_time"),
               None)  # fmt: skip
    # Some meters send an object twice. A dict keeps the first of equal measurements.
    quantities: dict[str, dict[Measurement, None]] = {}
    units: dict[Code, str] = {}
    for each in objects:
        try:
            found = list(_measurements_of(each, utc_offset_hours, skipped))
        except Damaged as damage:
            skipped[damage.reason] += 1
            continue
        for measurement in _with_units(each.code, found, units):
            quantity = quantities.setdefault(measurement.name.partition("/")[0], {})
            has_time = measurement.time_seconds is not None or now is None
            quantity[measurement if has_time else replace(measurement, time_seconds=now)] = None
    return {name: list(measurements) for name, measurements in quantities.items()}


def is_mixture(quantities: Quantities) -> bool:
    """Return True if a numeric quantity occurs twice with different values.

    If the end of one telegram and the beginning of the next are lost, the rest looks like a single
    telegram. Without a checksum, only two different values of one quantity reveal this loss.
    Entries of a meter's log are not compared, because a log contains several values of a quantity.
    """
    for measurements in quantities.values():
        values: dict[str, Value] = {}
        for each in measurements:
            if isinstance(each.value, str) or each.is_past:
                continue
            if values.setdefault(each.name, each.value) != each.value:
                return True
    return False


def _now_of(clock: TelegramObject, utc_offset_hours: int) -> float | None:
    try:
        return seconds_of(clock.groups[0], utc_offset_hours) if clock.groups else None
    except Damaged:
        return None


def _measurements_of(
    found: TelegramObject, utc_offset_hours: int, skipped: Counter[str]
) -> Iterator[Measurement]:
    """Yield the measurements of an object.

    An empty text and a log without entries contain no measurements. If an object has several
    values, unreadable values are skipped and counted in `skipped`.

    Raises:
        Damaged: if the object cannot be read.
    """
    groups = found.groups
    measured = found.is_number
    if found.code.quantity == _HOURLY_READING and len(groups) >= _HOURLY_GROUPS - 1:
        name = name_of(replace(found.code, d="2", e="1"))
        time = seconds_of(groups[0], utc_offset_hours) if is_time(groups[0]) else None
        yield _number(name, "".join(groups[6:7]), groups[5], time)
    elif (
        is_log(found.code)
        and groups[:1]
        and groups[0].isdecimal()
        and not any(is_quantity(each) or is_time(each) for each in groups[1:])
    ):
        return  # The log has no entries, whatever count the meter sends.
    elif len(groups) < 2:
        value, unit = _value_of(groups[0] if groups else "", is_number=measured)
        if value != "":
            yield Measurement(found.name, value, unit)
    elif not measured and groups[0].isdecimal() and not groups[0].strip("0"):
        return  # The log has no entries: (0), (0)() or (0)(code of a column).
    elif not measured and groups[0].isdecimal() and not is_time(groups[0]) and len(groups) > 2:
        yield from _log_of(found, utc_offset_hours, skipped)
    elif measured or any(is_quantity(group) for group in groups):
        yield from _timed_values_of(found, utc_offset_hours, skipped)
    else:
        yield Measurement(found.name, "".join(f"({group})" for group in groups))


def _with_units(
    code: Code, found: list[Measurement], units: dict[Code, str]
) -> Iterator[Measurement]:
    """Yield the measurements of an object, with units.

    Many meters write the unit only after the present value, and omit it after the values of earlier
    billing periods. `units` contains the units of the present values. It is updated.
    """
    present = replace(code, f=None)
    for each in found:
        if code.f is None and each.unit is not None:
            units[code] = each.unit
        is_without = each.unit is None and not isinstance(each.value, str)
        yield replace(each, unit=units.get(present)) if is_without else each


def _timed_values_of(
    found: TelegramObject, utc_offset_hours: int, skipped: Counter[str]
) -> Iterator[Measurement]:
    """Yield the values of an object, which may have a time before or after its values.

    `skipped` counts values that cannot be read.

    Raises:
        Damaged: with reason "time" if the time is invalid, or "not_measured" if there is no value.
    """
    values, time = found.groups, None
    if all(is_nothing(group) for group in values):
        raise Damaged(NOT_MEASURED)
    if is_time(values[0]):
        values, time = values[1:], seconds_of(values[0], utc_offset_hours)
    elif is_time(values[-1]):
        values, time = values[:-1], seconds_of(values[-1], utc_offset_hours)
    elif not all(is_quantity(group) for group in values):
        raise Damaged("time")
    for number, group in enumerate(values, 1):
        name = found.name if len(values) == 1 else f"{found.name}/{number}"
        try:
            value = _number(name, *_split(group), time)
            if _is_placeholder(found.code, value):
                raise Damaged(NOT_MEASURED)
            yield replace(value, is_past=time is not None and is_past(found.code))
        except Damaged as damage:
            skipped[damage.reason] += 1


def _is_placeholder(code: Code, reading: Measurement) -> bool:
    """Return True if a reading is only a placeholder for a missing gas or water reading.

    Until a meter on an M-Bus channel sends its first reading, the electricity meter reports 0 for
    it, with the date of an unset clock. If this 0 were published, the gas or water meter would seem
    to have been replaced.
    """
    time = reading.time_seconds
    return (
        (code.a, code.c) == ("0", "24")
        and not reading.value
        and (time is not None and time < EARLIEST_LOGGED)
    )


def _log_of(
    found: TelegramObject, utc_offset_hours: int, skipped: Counter[str]
) -> list[Measurement]:
    """Return the entries of a meter's log as measurements, sorted by time.

    A log has the form (count)(column code)...(time)(value)... In Belgian meters, each entry in the
    log of monthly peaks has two times: the month, and the time of the peak. An entry of a load
    profile has a time, a status and several values.
    """
    name = _PEAK_MONTHS if _PEAK in found.groups else found.name
    entries: list[Measurement] = []
    for time, values in _entries_in(found.groups[1:]):
        try:
            seconds = seconds_of(time, utc_offset_hours)
            if seconds < EARLIEST_LOGGED:
                raise Damaged("time")  # The meter's clock was not set at that time.
        except Damaged as damage:
            skipped[damage.reason] += 1
            continue
        for number, value in enumerate(values, 1):
            full_name = name if len(values) == 1 else f"{name}/{number}"
            try:
                entry = _number(full_name, *_split(value), seconds)
            except Damaged as damage:
                skipped[damage.reason] += 1
            else:
                entries.append(replace(entry, is_past=True))
    return sorted(entries, key=lambda entry: entry.time_seconds or 0.0)


def _entries_in(groups: tuple[str, ...]) -> Iterator[tuple[str, list[str]]]:
    """Yield the time and the values of each entry in a log.

    `groups` contains the codes of the columns and the entries. The time is empty if it is missing.
    If the values have no units, times and values alternate.
    """
    if not any(map(is_quantity, groups)):
        entries = [each for each in groups if ":" not in each]
        for time, value in zip(entries[::2], entries[1::2], strict=False):
            yield time, [value]
        return
    time, values = "", list[str]()
    for group in groups:
        if is_quantity(group):
            values.append(group)
            continue
        if values:
            yield time, values
            time, values = "", []
        if is_time(group) or not _STATUS.fullmatch(group):
            time = group
    if values:
        yield time, values


def _value_of(text: str, *, is_number: bool) -> tuple[Value, str | None]:
    """Return the value and the unit of an object that has only one pair of parentheses.

    `text` is the content of the parentheses. If the argument `is_number` is True, the text must be
    a number, with or without a unit. Otherwise, only a number with a unit is parsed. Any other
    text is returned unchanged, with None as the unit.

    Raises:
        Damaged: with reason "type", "value" or "not_measured" if a required number is missing or
            invalid.
    """
    number, unit = _split(text)
    if not is_number and (unit is None or number_of(number) is None):
        return text, None
    measurement = _number("", number, unit, None)
    return measurement.value, measurement.unit


def _split(group: str) -> tuple[str, str | None]:
    found = _WITH_UNIT.fullmatch(group)
    return (group, None) if found is None else (found[1], found[2])


def _number(name: str, text: str, unit: str | None, time_seconds: float | None) -> Measurement:
    if unit is None:
        text, unit = split_unit(text)  # Some meters omit the "*" before the unit.
    value = value_of(text, "number")
    assert isinstance(value, int | float), "it is a number, or damage"
    if unit in _POWERS_OF_TEN:
        unit, power = _POWERS_OF_TEN[unit]
        try:
            value = scaled(value, power_of_ten=power)
        except OutOfRange:
            raise Damaged("value") from None
    elif unit is not None:
        unit = _UNITS.get(unit) or unit_meant_by(unit) or unit
    return Measurement(name, value, unit, time_seconds)
