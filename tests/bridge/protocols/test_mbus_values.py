"""Units and numeric formats of M-Bus."""

import pytest
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.mbus_values import (
    TABLES,
    bcd_of,
    date_of,
    maker_of,
    number_of,
    time_of,
)


@pytest.mark.parametrize(
    ("data", "form", "number"),
    [
        ("ff", 1, -1),
        ("153100", 3, 12565),
        ("ffffffffffff", 6, -1),
        ("0000c841", 5, 25.0),
        ("371802", 11, 21837),
        ("0100f0", 11, -1),
    ],
)
def test_a_number_begins_with_its_lowest_byte(data: str, form: int, number: float) -> None:
    assert number_of(bytes.fromhex(data), form) == number


def test_digits_that_are_none_are_no_number() -> None:
    with pytest.raises(Damaged, match="value"):
        bcd_of(b"\x1a\x00")


def test_dates_and_times_are_those_of_the_meter_s_clock() -> None:
    # 31 December 2025; 26 November 2026, 10:42.
    assert date_of(bytes.fromhex("3f3c")) == "2025-12-31"
    assert time_of(bytes.fromhex("2a0a5a3b")) == "2026-11-26 10:42"
    assert time_of(bytes.fromhex("100905c5")) == "1996-05-05 09:16"
    for wrong in ("aa0a5a3b", "3e0a5a3b", "2a0a003b", "0000e1f1"):
        with pytest.raises(Damaged, match="time"):
            time_of(bytes.fromhex(wrong))


def test_a_maker_has_three_letters() -> None:
    assert maker_of(0x4024) == "PAD"


@pytest.mark.parametrize(
    ("table", "code", "name", "unit", "power"),
    [
        (None, 0x03, "energy", "kWh", -3),
        (None, 0x06, "energy", "kWh", 0),
        (None, 0x0E, "energy", "J", 6),
        (None, 0x13, "volume", "m3", -3),
        (None, 0x2B, "power", "W", 0),
        (None, 0x2E, "power", "W", 3),
        (None, 0x3B, "volume_flow", "m3/h", -3),
        (None, 0x5A, "flow_temperature", "Cel", -1),
        (None, 0x5F, "return_temperature", "Cel", 0),
        (None, 0x62, "temperature_difference", "K", -1),
        (None, 0x26, "operating_time", "h", 0),
        (0xFD, 0x48, "voltage", "V", -1),
        (0xFD, 0x59, "current", "A", -3),
        (0xFB, 0x01, "energy", "kWh", 3),
    ],
)
def test_units_are_those_of_the_standard_s_tables(
    table: int | None, code: int, name: str, unit: str, power: int
) -> None:
    meaning = TABLES[table][code]
    assert (meaning.name, meaning.unit, meaning.power_of_ten) == (name, unit, power)
