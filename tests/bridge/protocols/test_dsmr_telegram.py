"""The objects of a P1 telegram: OBIS code, value, unit and time."""

from collections import Counter

import pytest
from firmware_bridge.protocols.dsmr_telegram import read_telegram
from firmware_bridge.readings.device_clock import checked_times
from firmware_bridge.readings.measurement import Measurement
from hypothesis import given
from hypothesis import strategies as st


def read(*lines: str, skipped: Counter[str] | None = None) -> list[Measurement]:
    counts: Counter[str] = Counter()
    found = read_telegram("\r\n".join(["/ISk5", "", *lines, ""]).encode("latin-1"), 1, counts)
    assert skipped is not None or not counts
    if skipped is not None:
        skipped.update(counts)
    return [each for measurements in found.values() for each in measurements]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1-0:1.8.1(000004.426*kWh)", Measurement("energy_import_t1", 4.426, "kWh")),
        ("1-0:1.8.1*255(000004*kWh)", Measurement("energy_import_t1", 4, "kWh")),
        ("0-0:96.14.0(0002)", Measurement("tariff", "0002")),
        ("0-0:96.7.21(00013)", Measurement("power_failures", 13)),
        ("1-0:1.8.0( + 26107,70 * kWh )", Measurement("energy_import", 26107.7, "kWh")),
        ("1-0:32.7.0(230.1 V)", Measurement("voltage_l1", 230.1, "V")),
        ("1-0:1.8.0(26107.7kWh)", Measurement("energy_import", 26107.7, "kWh")),
        ("1-0:1.7.0(.5*kW)", Measurement("power_import", 0.5, "kW")),
        ("1-0:13.7.0(-0.842)", Measurement("power_factor", -0.842)),
        ("1.8.0(000123.456*kWh)", Measurement("energy_import", 123.456, "kWh")),
        ("F.F(00000000)", Measurement("error_code", "00000000")),
        ("1-0:21.7.255*255(000200.13*W)", Measurement("power_import_l1", 200.13, "W")),
        ("0-0:96.1.4(AB*CD)", Measurement("p1_version", "AB*CD")),
        ("0-2:96.1.1(3853)", Measurement("mbus_2_id", "3853")),
        ("0-1:24.2.3(260124170146W)(00338.711*m3)",
         Measurement("mbus_1_reading", 338.711, "m3", 1769270506.0)),
        ("1-0:1.6.0(03.291*kW)(260106111500W)",
         Measurement("power_peak", 3.291, "kW", 1767694500.0, is_past=True)),
        ("1-0:99:97.0(1)(0:96.7.19)(101208152415W)(0000000240*s)",
         Measurement("power_failure_log", 240, "s", 1291818255.0, is_past=True)),
        ("0-1:24.2.1(170702161005S)(1.5*m3)",
         Measurement("mbus_1_reading", 1.5, "m3", 1499004605.0)),
        ("1-0:1.8.0(0000000000000000000012345*kWh)", Measurement("energy_import", 12345, "kWh")),
        ("1-0:1.6.1(14-05-01 12:30:30)(01.234)",
         Measurement("1-0:1.6.1", 1.234, None, 1398940230.0, is_past=True)),
        ("0-1:24.2.1(170102161005W)(0.012*GJ)",
         Measurement("mbus_1_reading", 12_000_000, "J", 1483369805.0)),
        ("1-0:3.8.0(00000002.116*kVArh)", Measurement("reactive_energy_import", 2.116, "kvarh")),
        ("1.6.1(0.500*kW)(1261127120000)",
         Measurement("1-0:1.6.1", 0.5, "kW", 1795773600.0, is_past=True)),
        ("1-1:1.4.0*18(28.74*kW)(1701121445)",
         Measurement("1-1:1.4.0.18", 28.74, "kW", 1484228700.0, is_past=True)),
        ("1-0:32.7.0(220.1*v)", Measurement("voltage_l1", 220.1, "V")),
        ("1-0:31.7.0(001*a)", Measurement("current_l1", 1, "A")),
        ("1-0:1.7.0(01193*w)", Measurement("power_import", 1193, "W")),
        ("33.25(0.83*P/S)", Measurement("1-0:33.25", 0.83, "/")),
        ("0-2:24.2.1(240612110000S)(00000123*dm3)",
         Measurement("mbus_2_reading", 123, "l", 1718182800.0)),
        ("8-0:1.0.0(0.5*L)", Measurement("8-0:1.0.0", 0.5, "l")),
        ("1-0:32.7.0(0000.242*kV)", Measurement("voltage_l1", 242, "V")),  # Lithuania
        ("1-0:31.7.0(0000.005*kA)", Measurement("current_l1", 5, "A")),
        ("1-0:14.7.0(0000.049*kHz)", Measurement("frequency", 49, "Hz")),
        ("34.7(50.0*Hz)", Measurement("frequency_l1", 50.0, "Hz")),
        ("7-0:3.0.0(12.5*m\xb3)", Measurement("7-0:3.0.0", 12.5, "m3")),
        ("7-0:43.0.0(12.5*m\xc2\xb3/h)", Measurement("7-0:43.0.0", 12.5, "m3/h")),
        ("1-0:81.7.4(-120.3*\xb0)", Measurement("1-0:81.7.4", -120.3, "deg")),
        ("7-0:41.0.0(15.2*\xc2\xb0C)", Measurement("7-0:41.0.0", 15.2, "Cel")),
    ],
)  # fmt: skip
def test_an_object_becomes_a_measurement(line: str, expected: Measurement) -> None:
    assert read(line) == [expected]


def test_the_telegram_s_time_holds_for_what_has_none_and_empty_values_are_left_out() -> None:
    found = read("0-0:1.0.0(170102192002W)", "1-0:1.7.0(00.244*kW)", "0-0:96.13.0()")
    assert [each.time_seconds for each in found] == [1483381202.0] * 2


def test_a_reading_of_the_hour_of_dsmr_2_is_in_the_next_line() -> None:
    lines = ("0-1:24.3.0(161107190000)(00)(60)(1)(0-1:24.2.1)(m3)", "(00001.001)")
    assert read(*lines) == [Measurement("mbus_1_reading", 1.001, "m3", 1478541600.0)]


@pytest.mark.parametrize("lost", ["0-1:24.3.0(0902\xb0)(00)(60)(1)(0-1:24.2.1)(m3)", "junk"])
def test_a_value_whose_line_before_is_lost_does_not_cost_the_object_before(lost: str) -> None:
    skipped: Counter[str] = Counter()
    found = read("1-0:1.8.1(000004.426*kWh)", lost, "(12345.678)", skipped=skipped)
    assert found == [Measurement("energy_import_t1", 4.426, "kWh")]
    assert skipped.total() == 2


def test_a_time_in_the_next_line_belongs_to_the_value_before() -> None:
    (found,) = read("1-0:1.6.0(03.291*kW)", "(260106111500W)")
    assert found == Measurement("power_peak", 3.291, "kW", 1767694500.0, is_past=True)


def test_a_peak_of_years_ago_does_not_make_the_clock_of_the_meter_look_wrong() -> None:
    # Landis+Gyr ZMD310: the peaks of 15 months, and a peak that was never reset.
    skipped: Counter[str] = Counter()
    lines = ("1-1:1.6.1(27.19*kW)(1702090945)", "1-1:1.6.1*18(28.74)(1701121445)")
    telegram = "\r\n".join(["/LGZ4ZMD310", *lines]).encode()
    quantities = read_telegram(telegram, 1, skipped)
    assert checked_times(quantities, 1795773600.0) == (quantities, None)


def test_a_log_without_entries_is_no_reading() -> None:
    assert read("1-0:99.97.0(0)(0-0:96.7.19)", "1-0:99.97.0(0)()", "1-0:99.97.0()") == []
    assert read("0-0:98.1.0(12)", "1-0:99.97.0(2)(0-0:96.7.19)") == []


def test_entries_of_a_log_may_have_no_unit() -> None:
    entries = "(251128152415W)(0000000240)(251128151004W)(0000000301)"
    found = read(f"1-0:99.97.0(2)(0-0:96.7.19){entries}", "1-0:99.98.0(1)(251128151004W)(3)")
    assert [(each.name, each.value, each.time_seconds) for each in found] == [
        ("power_failure_log", 301, 1764339004.0),
        ("power_failure_log", 240, 1764339855.0),
        ("1-0:99.98.0", 3, 1764339004.0),
    ]


def test_an_entry_of_a_load_profile_has_a_time_a_status_and_several_values() -> None:
    columns = "(0-0:96.10.7)(1-0:1.29.0)(1-0:2.29.0)"
    first = "(251207001500W)(00)(000000.165*kWh)(000000.000*kWh)"
    second = "(251207003000W)(0008)(000000.205*kWh)(000000.001*kWh)"
    found = read(f"1-0:99.1.0(2){columns}{first}{second}")
    assert [(each.name, each.value, each.time_seconds, each.is_past) for each in found] == [
        ("interval_values/1", 0.165, 1765062900.0, True),
        ("interval_values/2", 0.0, 1765062900.0, True),
        ("interval_values/1", 0.205, 1765063800.0, True),
        ("interval_values/2", 0.001, 1765063800.0, True),
    ]


def test_an_entry_of_a_log_without_its_time_does_not_get_that_of_another_entry() -> None:
    skipped: Counter[str] = Counter()
    entries = "(251207001500W)(0000000240*s)(00)(0000000100*s)"
    (found,) = read(f"1-0:99.97.0(2)(0-0:96.7.19){entries}", skipped=skipped)
    assert (found.value, skipped) == (240, {"time": 1})


def test_the_latest_entry_of_a_log_is_the_last_one() -> None:
    line = "1-0:99.97.0(2)(0-0:96.7.19)(101208152415W)(0000000240*s)(101208151004W)(0000000301*s)"
    assert [each.value for each in read(line)] == [301, 240]


def test_several_values_of_one_time_are_numbered() -> None:
    found = read("0-0:98.1.0(260101000000W)(000663.924*kWh)(00.100*kW)")
    assert [(each.name, each.value, each.unit) for each in found] == [
        ("monthly_values/1", 663.924, "kWh"),
        ("monthly_values/2", 0.1, "kW"),
    ]


def test_a_message_that_the_meter_breaks_into_lines_is_one_text() -> None:
    found = read("0-0:96.13.0(3031", "3233)", "1-0:1.7.0(00.244*kW)")
    assert [each.value for each in found] == ["30313233", 0.244]


def test_an_object_that_comes_twice_is_one_measurement_and_another_value_is_kept() -> None:
    found = read("1-0:1.7.0(1*kW)", "1-0:1.7.0(1*kW)", "1-0:1.7.0(2*kW)")
    assert [each.value for each in found] == [1, 2]


def test_a_gas_meter_whose_clock_was_reset_keeps_its_reading() -> None:
    (found,) = read("0-1:24.2.1(000101000000W)(00338.711*m3)")
    assert found.value == 338.711


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("1-0:1.8.0(000004.426*kWh", "syntax"),
        ("hello", "syntax"),
        ("0-1:96.1.0(\xff\xff)", "text"),
        ("0-1:24.2.1(632525252525S)(00000.000*m3)", "time"),
        ("1-0:1.6.0(000000000000W)(00.000*kW)", "time"),
        ("1-0:1.8.0(none)", "type"),
        ("1-0:1.8.0(none*kWh)", "type"),
        ("1-0:1.8.0(--*kWh)", "not_measured"),
        ("1-0:1.8.0(nan*kWh)", "not_measured"),
        ("1-0:1.8.0()", "not_measured"),
        ("0-1:24.2.1()()", "not_measured"),
        ("0-1:24.2.1(170102161005W)(none*m3)", "type"),
        ("0-1:24.2.1(700101010000W)(00000000)", "not_measured"),
        ("0-1:24.2.1(000101000000W)(00000.000*m3)", "not_measured"),
        ("1-0:99.97.0(1)(0-0:96.7.19)(000101010000W)(0000001050*s)", "time"),
        ("0-1:24.2.1(FFFFFFFFFFFF)(00001.000*m3)", "time"),
        ("0-1:24.3.0(161107190000)(00)(60)(1)(0-1:24.2.1)(m3)", "not_measured"),
        ("1-0:1.8.0(12345678901234567890*kWh)", "value"),
        ("1-0:1.8.0(99999999999999999999e9999*kWh)", "value"),
        ("0-1:24.2.1(170102161005W)(9e307*GJ)", "value"),
        ("1-0:1.8.0(1*k\xffWh)", "text"),
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_an_odd_object_is_counted_and_costs_no_other(
    line: str, reason: str, *, is_first: bool
) -> None:
    skipped: Counter[str] = Counter()
    good = "1-0:1.7.0(00.244*kW)"
    lines = (line, good) if is_first else (good, line)
    assert read(*lines, skipped=skipped) == [Measurement("power_import", 0.244, "kW")]
    assert skipped == {reason: 1}


PIECES = ("0-0:1.0.0(", "1-0:1.7.0(", "0-0:98.1.0(", "0-1:24.3.0(", "1)", "(", "0*kWh)", "\r\n",
          "260124170225W)", "632525252525S)", "\xff", "*", "(13)", "(1-0:1.6.0)")  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=40))
def test_no_lines_raise(parts: list[str]) -> None:
    read("".join(parts), skipped=Counter())


@given(st.text(st.characters(codec="latin-1"), max_size=200))
def test_no_text_raises(text: str) -> None:
    read(text, skipped=Counter())
