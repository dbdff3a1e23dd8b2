"""Contents of a DSMR telegram as the library dsmr-parser reads them, under the bridge's names:
value, unit and the object's own time."""

import datetime
from decimal import Decimal

from dsmr_parser import telegram_specifications
from dsmr_parser.objects import MBusObject, ProfileGenericObject
from dsmr_parser.parsers import TelegramParser

_PHASES = {
    f"{theirs.format(phase)}": f"{ours}_l{phase}"
    for phase in (1, 2, 3)
    for theirs, ours in {
        "VOLTAGE_SAG_L{}_COUNT": "voltage_sags",
        "VOLTAGE_SWELL_L{}_COUNT": "voltage_swells",
        "INSTANTANEOUS_VOLTAGE_L{}": "voltage",
        "INSTANTANEOUS_CURRENT_L{}": "current",
        "INSTANTANEOUS_ACTIVE_POWER_L{}_POSITIVE": "power_import",
        "INSTANTANEOUS_ACTIVE_POWER_L{}_NEGATIVE": "power_export",
    }.items()
}
NAMES = {
    **_PHASES,
    "P1_MESSAGE_HEADER": "p1_version",
    "P1_MESSAGE_TIMESTAMP": "meter_time",
    "EQUIPMENT_IDENTIFIER": "meter_id",
    "ELECTRICITY_USED_TARIFF_1": "energy_import_t1",
    "ELECTRICITY_USED_TARIFF_2": "energy_import_t2",
    "ELECTRICITY_DELIVERED_TARIFF_1": "energy_export_t1",
    "ELECTRICITY_DELIVERED_TARIFF_2": "energy_export_t2",
    "ELECTRICITY_ACTIVE_TARIFF": "tariff",
    "CURRENT_ELECTRICITY_USAGE": "power_import",
    "CURRENT_ELECTRICITY_DELIVERY": "power_export",
    "ACTUAL_TRESHOLD_ELECTRICITY": "power_limit",
    "ACTUAL_SWITCH_POSITION": "switch",
    "SHORT_POWER_FAILURE_COUNT": "power_failures",
    "LONG_POWER_FAILURE_COUNT": "long_power_failures",
    "POWER_EVENT_FAILURE_LOG": "power_failure_log",
}
NAMES_OF_MBUS = {
    "DEVICE_TYPE": "type", "EQUIPMENT_IDENTIFIER_GAS": "id", "HOURLY_GAS_METER_READING": "reading",
    "VALVE_POSITION_GAS": "valve", "GAS_METER_READING": "reading",
    "MBUS_DEVICE_TYPE": "type", "MBUS_EQUIPMENT_IDENTIFIER": "id", "MBUS_METER_READING": "reading",
}  # fmt: skip

Object = tuple[object, str | None, float | None]
"""Value, unit, and the object's own time if it has one. A number is a Decimal, and a log is a list.
"""


def objects_of(text: str, version: str) -> dict[str, Object]:
    """Return every object of a telegram that is not empty, by the bridge's name for the object."""
    telegram = TelegramParser(getattr(telegram_specifications, version)).parse(text, throw_ex=True)
    found: dict[str, Object] = {}
    for name, item in telegram:
        if name == "MBUS_DEVICES":
            for device in item:
                for of_device in device._item_names:
                    ours = f"mbus_{device.channel_id}_{NAMES_OF_MBUS[of_device]}"
                    found[ours] = _object_of(getattr(device, of_device))
        elif not name.startswith("TEXT_MESSAGE") or item.value is not None:
            found[NAMES[name]] = _object_of(item)
    return {
        name: _with_type(name, each) for name, each in found.items() if each[0] not in (None, "")
    }


def _object_of(item: object) -> Object:
    if isinstance(item, ProfileGenericObject):
        return [_plain(each["value"]) for each in item.values], None, None
    time = item.datetime.timestamp() if isinstance(item, MBusObject) else None
    return _plain(item.value), item.unit, time  # type: ignore[attr-defined]


def _with_type(name: str, found: Object) -> Object:
    """Return the object with a device type as a Decimal: some DSMR versions write the type as one
    to three digits of text, others as a number."""
    return (Decimal(str(found[0])), *found[1:]) if name.endswith("_type") else found


def _plain(value: object) -> object:
    if isinstance(value, datetime.datetime):
        return value.timestamp()
    return Decimal(value) if isinstance(value, int) else value


def value_of(name: str, written: object) -> object:
    """Convert a value that the bridge published into the form that `objects_of` returns."""
    if isinstance(written, int | float):
        return Decimal(str(written))
    assert isinstance(written, str)
    if name.endswith("_type"):
        return Decimal(written)
    if name == "meter_time":
        return _seconds_of(written)
    return written


def entries_of(log: Object | None) -> list[tuple[float, int]]:
    """Return the entries of a power failure log as (time, duration in seconds), sorted by time."""
    if log is None:
        return []
    found = [each for each in log[0] if not isinstance(each, str)]  # type: ignore[attr-defined]
    pairs = zip(found[1::2], found[2::2], strict=True)
    return sorted((float(time), int(seconds)) for time, seconds in pairs)


def _seconds_of(text: str) -> float:
    hours = 2 if text.endswith("S") else 1
    zone = datetime.timezone(datetime.timedelta(hours=hours))
    return datetime.datetime.strptime(text[:-1], "%y%m%d%H%M%S").replace(tzinfo=zone).timestamp()
