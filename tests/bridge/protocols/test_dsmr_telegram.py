"""The objects of a telegram."""

import pytest
from firmware_bridge.protocols.dsmr_telegram import read_telegram
from firmware_bridge.readings.measurement import Measurement


def read(*lines: str) -> list[Measurement]:
    found = read_telegram("\r\n".join(["/ISk5", "", *lines, ""]).encode(), 1)
    return [each for measurements in found.values() for each in measurements]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1-0:1.8.1(000004.426*kWh)", Measurement("energy_import_t1", 4.426, "kWh")),
        ("1-0:1.8.1*255(000004*kWh)", Measurement("energy_import_t1", 4, "kWh")),
        ("0-0:96.14.0(0002)", Measurement("tariff", "0002")),
        ("0-0:96.7.21(00013)", Measurement("power_failures", 13)),
        ("1-0:99.97.0(0)(0-0:96.7.19)", Measurement("power_failure_log", "(0)(0-0:96.7.19)")),
        ("0-1:24.2.1(170702161005S)(1.5*m3)",
         Measurement("mbus_1_reading", 1.5, "m3", 1499004605.0)),
        ("0-1:24.2.1(170102161005W)(0.012*GJ)",
         Measurement("mbus_1_reading", 12_000_000, "J", 1483369805.0)),
    ],
)  # fmt: skip
def test_an_object_becomes_a_measurement(line: str, expected: Measurement) -> None:
    assert read(line) == [expected]


def test_the_telegram_s_time_holds_for_what_has_none_and_empty_values_are_left_out() -> None:
    found = read("0-0:1.0.0(170102192002W)", "1-0:1.7.0(00.244*kW)", "0-0:96.13.0()")
    assert [each.time_seconds for each in found] == [1483381202.0] * 2


def test_a_reading_of_the_hour_of_dsmr_2_is_in_the_next_line() -> None:
    lines = ("0-1:24.3.0(161107190000)(00)(60)(1)(0-1:24.2.1)(m3)", "(00001.001)")
    assert read(*lines) == [Measurement("mbus_1_reading", 1.001, "m3")]
