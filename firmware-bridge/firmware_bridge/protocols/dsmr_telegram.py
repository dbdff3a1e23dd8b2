"""Converts the lines of a DSMR telegram to measurements.

The checksum has already proved that the telegram arrived intact. An object that still cannot be
read is therefore not damaged, but a peculiarity of the meter. It is counted and skipped, and the
other objects are read.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from firmware_bridge.protocols.dsmr_time import is_time, seconds_of
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.obis import Code, is_number, name_of
from firmware_bridge.protocols.text_values import NOT_MEASURED, is_nothing, number_of, value_of
from firmware_bridge.readings.measurement import Measurement, Quantities, Value

_OBJECT = re.compile(
    r"(?:([0-9]{1,3})-([0-9]{1,3}):)?([0-9A-Z]{1,3})[.:]([0-9A-Z]{1,3})(?:[.:]([0-9]{1,3}))?"
    r"(?:[*&]([0-9]{1,3}))?((?:\s*\([^()]*\))*)"
)
_BEGIN = re.compile(r"[0-9A-Z]{1,3}(-[0-9]{1,3}:[0-9]{1,3})?[.:][0-9A-Z]{1,3}[.:(*&]")
_CONTINUATION = re.compile(r"(?:\s*\([^()]*\))+")
_LINE_END = re.compile(rb"[\r\n]+")
_AROUND_LINES = " \t\0\x02"
"""Blanks, fillers, and the STX that a polled meter sends before the first object."""
_GROUP = re.compile(r"\(([^()]*)\)")
_WITH_UNIT = re.compile(r"([^*]*)\*\s*([^\s*]{1,16})\s*")
_HOURLY_READING = "24.3.0"
"""DSMR 2.2 line: (time)(..)(..)(..)(code of the reading)(unit), then a line with (value)."""
_HOURLY_GROUPS = 7
_PEAK, _PEAK_MONTHS = "1-0:1.6.0", "power_peak_months"


@dataclass(frozen=True)
class _Object:
    """An object of the telegram: its code, its name, and the strings in its parentheses."""

    code: Code
    name: str
    groups: tuple[str, ...]


def read_telegram(head: bytes, utc_offset_hours: int, left_out: Counter[str]) -> Quantities:
    """Parse a telegram up to its '!'. `utc_offset_hours` is the offset in winter.

    `left_out` counts skipped objects by reason: "text" if a line has a character that is not ASCII,
    "syntax" if a line is not an object, "type" if an expected number is missing, "time" or "value"
    if a time or value is invalid, and "not_measured" if an object is empty.
    """
    objects = _named(_objects_in(_LINE_END.split(head)[1:], left_out))
    now = next((_now_of(each, utc_offset_hours) for each in objects if each.name == "meter_time"),
               None)  # fmt: skip
    quantities: Quantities = {}
    for each in objects:
        try:
            found = list(_measurements_of(each, utc_offset_hours, left_out))
        except Damaged as damage:
            left_out[damage.reason] += 1
            continue
        for measurement in found:
            quantity = quantities.setdefault(measurement.name.partition("/")[0], [])
            has_time = measurement.time_seconds is not None or now is None
            quantity.append(measurement if has_time else replace(measurement, time_seconds=now))
    return quantities


def is_mixture(quantities: Quantities) -> bool:
    """Return True if a numeric quantity occurs twice with different values.

    If the bytes between two telegrams are lost, the telegrams look like one. If the telegrams have
    no checksum, only such a contradiction reveals the loss. The entries of a log are not compared.
    """
    for measurements in quantities.values():
        values: dict[str, Value] = {}
        for each in measurements:
            if isinstance(each.value, str) or each.is_past:
                continue
            if values.setdefault(each.name, each.value) != each.value:
                return True
    return False


def _now_of(clock: _Object, utc_offset_hours: int) -> float | None:
    try:
        return seconds_of(clock.groups[0], utc_offset_hours) if clock.groups else None
    except Damaged:
        return None


def _objects_in(lines: list[bytes], left_out: Counter[str]) -> Iterator[tuple[Code, list[str]]]:
    """Yield each object as its OBIS code and the contents of its parentheses."""
    latest: tuple[Code, list[str]] | None = None
    for line in _whole_lines(lines, left_out):
        found = _OBJECT.fullmatch(line)
        if found is not None:
            if latest is not None:
                yield latest
            latest = (Code.of(found.groups()[:6]), _GROUP.findall(found[7]))
        elif latest is not None and _CONTINUATION.fullmatch(line) and _is_continued(*latest, line):
            latest[1].extend(_GROUP.findall(line))
        else:
            left_out["syntax"] += 1
    if latest is not None:
        yield latest


def _is_continued(code: Code, groups: list[str], line: str) -> bool:
    """Return True if `line` may continue the object that has this code and these groups.

    If the object is already a complete number, the line belongs to another object. The beginning of
    that other object was lost.
    """
    return len(groups) != 1 or not is_number(code) or is_time(_GROUP.findall(line)[0].strip())


def _whole_lines(lines: list[bytes], left_out: Counter[str]) -> Iterator[str]:
    """Yield the lines of a telegram.

    If the meter broke a line within parentheses, join the pieces.
    """
    part = ""
    for each in lines:
        try:
            line = each.decode("ascii").strip(_AROUND_LINES)
        except UnicodeDecodeError:
            left_out["text"] += 1
            continue
        if part and _BEGIN.match(line):
            left_out["syntax"] += 1
            part = ""
        part += line
        if part.count("(") <= part.count(")"):
            if part:
                yield part
            part = ""
    if part:
        left_out["syntax"] += 1


def _named(objects: Iterator[tuple[Code, list[str]]]) -> list[_Object]:
    """Return the objects with their names.

    If a name is already taken, use the OBIS code as the name.
    """
    codes: dict[str, Code] = {}
    named: list[_Object] = []
    for code, groups in objects:
        name = name_of(code)
        if codes.setdefault(name, code) != code:
            name = str(code)
        named.append(_Object(code, name, tuple(group.strip() for group in groups)))
    return named


def _measurements_of(
    found: _Object, utc_offset_hours: int, left_out: Counter[str]
) -> Iterator[Measurement]:
    """Yield the measurements of an object. An empty object may have none.

    If an object has several values, unreadable values are counted in `left_out`.

    Raises:
        Damaged: the object cannot be read.
    """
    groups = found.groups
    measured = is_number(found.code)
    if found.code.quantity == _HOURLY_READING and len(groups) >= _HOURLY_GROUPS - 1:
        name = name_of(replace(found.code, d="2", e="1"))
        time = seconds_of(groups[0], utc_offset_hours) if is_time(groups[0]) else None
        yield _number(name, "".join(groups[6:7]), groups[5], time)
    elif len(groups) < 2:
        value, unit = _value_of(groups[0] if groups else "", is_number=measured)
        if value != "":
            yield Measurement(found.name, value, unit)
    elif not measured and groups[0].isdecimal() and not groups[0].strip("0"):
        return  # The log has no entries: (0), (0)() or (0)(code of a column).
    elif not measured and groups[0].isdecimal() and not is_time(groups[0]) and len(groups) > 2:
        yield from _log_of(found, utc_offset_hours, left_out)
    elif measured or any(_is_quantity(group) for group in groups):
        yield from _timed_values_of(found, utc_offset_hours, left_out)
    else:
        yield Measurement(found.name, "".join(f"({group})" for group in groups))


def _timed_values_of(
    found: _Object, utc_offset_hours: int, left_out: Counter[str]
) -> Iterator[Measurement]:
    """Yield the values of an object. A time may come before or after the values.

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
    elif not all(_is_quantity(group) for group in values):
        raise Damaged("time")
    for number, group in enumerate(values, 1):
        name = found.name if len(values) == 1 else f"{found.name}/{number}"
        try:
            yield _number(name, *_split(group), time)
        except Damaged as damage:
            left_out[damage.reason] += 1


def _log_of(found: _Object, utc_offset_hours: int, left_out: Counter[str]) -> list[Measurement]:
    """Return the entries of a log: (count)(code of a column)...(time)(value)(time)(value)...

    The log of monthly peaks in Belgian meters has two times per entry: the month, and the time of
    the peak. The entries are sorted by time, the latest entry last.
    """
    name, time = found.name, ""
    entries: list[Measurement] = []
    for group in found.groups[1:]:
        if group == _PEAK:
            name = _PEAK_MONTHS
        elif not _is_quantity(group):
            time = group
        else:
            try:
                entry = _number(name, *_split(group), seconds_of(time, utc_offset_hours))
            except Damaged as damage:
                left_out[damage.reason] += 1
            else:
                entries.append(replace(entry, is_past=True))
    return sorted(entries, key=lambda entry: entry.time_seconds or 0.0)


def _value_of(text: str, *, is_number: bool) -> tuple[Value, str | None]:
    """Return the value and the unit of an object. `text` is the content of its only parentheses.

    The unit is None if the text has no unit. The value is "" if the text is empty.
    """
    number, unit = _split(text)
    if not is_number and (unit is None or number_of(number) is None):
        return text, None
    measurement = _number("", number, unit, None)
    return measurement.value, measurement.unit


def _is_quantity(group: str) -> bool:
    """Return True if a group, the content of parentheses, is a value with a unit."""
    return "*" in group


def _split(group: str) -> tuple[str, str | None]:
    found = _WITH_UNIT.fullmatch(group)
    return (group, None) if found is None else (found[1], found[2])


def _number(name: str, text: str, unit: str | None, time_seconds: float | None) -> Measurement:
    value = value_of(text, "number")
    assert isinstance(value, int | float), "it is a number, or damage"
    if unit == "GJ":  # Not among SenML's units.
        value, unit = round(value * 1e9), "J"
    return Measurement(name, value, unit, time_seconds)
