"""Converts the objects in a DLMS message to measurements."""

import datetime
from collections import Counter
from dataclasses import replace
from typing import Final

from firmware_bridge.protocols.cosem import UNITS_OF_DLMS, text_of
from firmware_bridge.protocols.dlms_data import TIME_BYTES, Data, Enumerated, Object
from firmware_bridge.protocols.dlms_layouts import objects_of
from firmware_bridge.protocols.frame import TYPE, Damaged
from firmware_bridge.protocols.obis import Code, is_number, is_text_of_mbus, name_of
from firmware_bridge.protocols.text_values import in_range
from firmware_bridge.readings.measurement import Measurement, Quantities, Value
from firmware_bridge.readings.scaling import OutOfRange, scaled

_POWER_OF_TEN_MAX: Final = 18


def read_values(data: Data, skipped: Counter[str]) -> Quantities:
    """Convert a decoded message to measurements. `skipped` counts unreadable values by reason.

    If two objects with different OBIS codes would get the same name, the second object is named
    after its OBIS code instead. If an object occurs twice, its first value is used.

    Raises:
        Damaged: with reason "layout" if no known layout fits the message.
    """
    if not isinstance(data, list):
        raise Damaged("layout")
    quantities: Quantities = {}
    codes: dict[str, Code] = {}
    without_code: list[Data] = []
    for found in objects_of(data, without_code):
        try:
            measurement = _measurement_of(found)
        except Damaged as damage:
            skipped[damage.reason] += 1
        else:
            if measurement is None:
                continue
            first = codes.setdefault(measurement.name, found.code)
            if first is not found.code and first != found.code:
                measurement = replace(measurement, name=str(found.code))
            quantities.setdefault(measurement.name, [measurement])
    if not quantities:
        raise Damaged("layout")
    if without_code:
        skipped["layout"] += len(without_code)
    return quantities


def _measurement_of(found: Object) -> Measurement | None:
    """Convert an object to a measurement. Return None if the object has no value.

    Raises:
        Damaged: with reason "type" if the value has the wrong type, "value" if it is out of range,
            or "time" if it is an incomplete time.
    """
    if found.value in (None, b"", "") or (
        isinstance(found.value, bytes) and _is_unused(found.code, found.value)
    ):
        return None
    value = _value_of(found)
    if found.code.a == "0" and isinstance(value, int) and is_text_of_mbus(found.code):
        value = str(int(value))
    if is_number(found.code) and isinstance(value, bool | str):
        raise Damaged(TYPE)
    unit = None if found.unit is None else UNITS_OF_DLMS.get(found.unit)
    return Measurement(name_of(found.code), value, unit)


def _is_unused(code: Code, value: bytes) -> bool:
    """Return True for the identifier of an M-Bus channel without a meter: octets that are 0."""
    is_of_channel = code.a == "0" and code.b != "0" and code.c == "96"
    return is_of_channel and not any(value)


def _value_of(found: Object) -> Value:
    value = found.value
    if isinstance(value, Enumerated):
        return value.code
    if isinstance(value, bytes):
        is_time = len(value) == TIME_BYTES and found.code.c in ("1", "0") and found.code.a == "0"
        return time_text(value) if is_time else text_of(value)
    if isinstance(value, list):
        raise Damaged(TYPE)
    if isinstance(value, bool | str) or value is None:
        return value if value is not None else ""
    power = found.power_of_ten or 0
    if abs(power) > _POWER_OF_TEN_MAX:
        raise Damaged("value")
    try:
        plain = int(value) if isinstance(value, int) else value
        return in_range(scaled(plain, power_of_ten=power))
    except OutOfRange:
        raise Damaged("value") from None


def time_text(data: bytes) -> str:
    """Return the time of a meter's clock as `YYYY-MM-DD hh:mm:ss`.

    `data` begins with the year (u16), month, day, weekday, hour, minute and second.

    Raises:
        Damaged: with reason "time" if a part of the time is unspecified, or if the time does not
            exist.
    """
    month, day, _, hour, minute, second = data[2:8]
    try:
        time = datetime.datetime(int.from_bytes(data[:2]), month, day, hour, minute, second)  # noqa: DTZ001
    except ValueError:
        raise Damaged("time") from None
    return f"{time.year:04}-{time:%m-%d %H:%M:%S}"
