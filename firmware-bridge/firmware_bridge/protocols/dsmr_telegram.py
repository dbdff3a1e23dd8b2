"""The lines of one DSMR telegram -> measurements.

The checksum has judged the telegram as a whole. An object that cannot be read is therefore not
damage but something that a meter writes: it is left out and counted, and costs no other object.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from firmware_bridge.protocols.dsmr_time import is_time, seconds_of
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.kinds import TYPE
from firmware_bridge.protocols.obis import Code, is_number, name_of
from firmware_bridge.protocols.text_values import NOT_MEASURED, is_nothing, number_of
from firmware_bridge.readings.measurement import Measurement, Quantities, Value

_OBJECT = re.compile(
    r"(?:([0-9]{1,3})-([0-9]{1,3}):)?([0-9A-Z]{1,3})[.:]([0-9A-Z]{1,3})(?:[.:]([0-9]{1,3}))?"
    r"(?:[*&]([0-9]{1,3}))?((?:\s*\([^()]*\))*)"
)
_BEGIN = re.compile(r"[0-9A-Z]{1,3}(-[0-9]{1,3}:[0-9]{1,3})?[.:][0-9A-Z]{1,3}[.:(*&]")
_CONTINUATION = re.compile(r"(?:\s*\([^()]*\))+")
_GROUP = re.compile(r"\(([^()]*)\)")
_WITH_UNIT = re.compile(r"([^*]*)\*\s*([^\s*]{1,16})\s*")
_HOURLY_READING = "24.3.0"
"""Of DSMR 2.2: (time)(..)(..)(..)(code of the reading)(unit), and on the next line (value)."""
_HOURLY_GROUPS = 7
_PEAK, _PEAK_MONTHS = "1-0:1.6.0", "power_peak_months"


@dataclass(frozen=True)
class _Object:
    """An object of the telegram: its name, and what is in its parentheses."""

    code: Code
    name: str
    groups: tuple[str, ...]


def read_telegram(head: bytes, utc_offset_hours: int, left_out: Counter[str]) -> Quantities:
    """Read what is before the '!' of a telegram.

    `left_out` counts objects by reason: "text" for other characters than ASCII's, "syntax" for a
    line that is no object, "time", "type" for a number that is none, "value", "not_measured".
    """
    objects = _named(_objects_in(head.split(b"\n")[1:], left_out))
    now = next((_now_of(each, utc_offset_hours) for each in objects if each.name == "meter_time"),
               None)  # fmt: skip
    quantities: Quantities = {}
    for each in objects:
        try:
            found = list(_measurements_of(each, utc_offset_hours))
        except Damaged as damage:
            left_out[damage.reason] += 1
            continue
        for measurement in found:
            quantity = quantities.setdefault(measurement.name.partition("/")[0], [])
            has_time = measurement.time_seconds is not None or now is None
            quantity.append(measurement if has_time else replace(measurement, time_seconds=now))
    return quantities


def _now_of(clock: _Object, utc_offset_hours: int) -> float | None:
    try:
        return seconds_of(clock.groups[0], utc_offset_hours) if clock.groups else None
    except Damaged:
        return None


def _objects_in(lines: list[bytes], left_out: Counter[str]) -> Iterator[tuple[Code, list[str]]]:
    """Yield the code and the values of each object."""
    latest: tuple[Code, list[str]] | None = None
    for line in _whole_lines(lines, left_out):
        found = _OBJECT.fullmatch(line)
        if found is not None:
            if latest is not None:
                yield latest
            latest = (Code.of(found.groups()[:6]), _GROUP.findall(found[7]))
        elif latest is not None and _CONTINUATION.fullmatch(line):
            latest[1].extend(_GROUP.findall(line))
        else:
            left_out["syntax"] += 1
    if latest is not None:
        yield latest


def _whole_lines(lines: list[bytes], left_out: Counter[str]) -> Iterator[str]:
    """Yield the lines; one that a meter broke within parentheses, as a long message, is joined."""
    part = ""
    for each in lines:
        try:
            line = each.decode("ascii").strip()
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
    """Name each object; of two codes with one name, the second keeps its code."""
    codes: dict[str, Code] = {}
    named: list[_Object] = []
    for code, groups in objects:
        name = name_of(code)
        if codes.setdefault(name, code) != code:
            name = str(code)
        named.append(_Object(code, name, tuple(group.strip() for group in groups)))
    return named


def _measurements_of(found: _Object, utc_offset_hours: int) -> Iterator[Measurement]:
    """Yield the measurements of an object; none for what the meter left empty.

    Raises:
        Damaged: it cannot be read.
    """
    groups = found.groups
    if found.code.quantity == _HOURLY_READING and len(groups) >= _HOURLY_GROUPS:
        name = name_of(replace(found.code, d="2", e="1"))
        time = seconds_of(groups[0], utc_offset_hours) if is_time(groups[0]) else None
        yield _number(name, groups[6], groups[5], time)
    elif len(groups) < 2:
        value, unit = _value_of(groups[0] if groups else "", is_number=is_number(found.code))
        if value != "":
            yield Measurement(found.name, value, unit)
    elif is_time(groups[0]) and _is_quantity(groups[1]):
        time = seconds_of(groups[0], utc_offset_hours)
        names = [found.name]
        if len(groups) > 2:
            names = [f"{found.name}/{number}" for number in range(1, len(groups))]
        for name, group in zip(names, groups[1:], strict=True):
            number, unit = _split(group)
            yield _number(name, number, unit, time)
    elif len(groups) == 2 and _is_quantity(groups[0]) and is_time(groups[1]):
        number, unit = _split(groups[0])
        yield _number(found.name, number, unit, seconds_of(groups[1], utc_offset_hours))
    elif groups[0].isdecimal() and not groups[0].strip("0"):
        return  # A log without entries: (0), (0)() or (0)(code of a column).
    elif groups[0].isdecimal() and len(groups) > 2:
        yield from _log_of(found, utc_offset_hours)
    else:
        yield Measurement(found.name, "".join(f"({group})" for group in groups))


def _log_of(found: _Object, utc_offset_hours: int) -> list[Measurement]:
    """Return the entries of a log: (count)(code of a column)...(time)(value)(time)(value)...

    The monthly peaks of Belgian meters have two times an entry, the month's and that of the peak.
    The latest entry is the last one, as in a pack of readings.
    """
    name, time = found.name, 0.0
    entries: list[Measurement] = []
    for group in found.groups[1:]:
        if is_time(group):
            time = seconds_of(group, utc_offset_hours)
        elif _is_quantity(group):
            number, unit = _split(group)
            entries.append(replace(_number(name, number, unit, time), is_past=True))
        elif group == _PEAK:
            name = _PEAK_MONTHS
    return sorted(entries, key=lambda entry: entry.time_seconds or 0.0)


def _value_of(text: str, *, is_number: bool) -> tuple[Value, str | None]:
    """Return the value and unit of the only group of an object; "" for an empty text."""
    number, unit = _split(text)
    if not is_number and (unit is None or number_of(number) is None):
        return text, None
    measurement = _number("", number, unit, None)
    return measurement.value, measurement.unit


def _is_quantity(group: str) -> bool:
    """Return whether it is a number with a unit."""
    return "*" in group


def _split(group: str) -> tuple[str, str | None]:
    found = _WITH_UNIT.fullmatch(group)
    return (group, None) if found is None else (found[1], found[2])


def _number(name: str, text: str, unit: str | None, time_seconds: float | None) -> Measurement:
    if is_nothing(text):
        raise Damaged(NOT_MEASURED)
    value = number_of(text)
    if value is None:
        raise Damaged(TYPE)
    if unit == "GJ":  # Not among SenML's units.
        value, unit = round(value * 1e9), "J"
    return Measurement(name, value, unit, time_seconds)
