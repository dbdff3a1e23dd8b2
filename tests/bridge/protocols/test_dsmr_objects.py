"""The objects of a telegram: several in a line, and codes that share a name."""

import pytest

from tests.bridge.protocols.test_dsmr_telegram import read


def test_of_two_codes_with_one_name_the_second_keeps_its_code() -> None:
    found = read("0-1:24.2.1(170102161005W)(1*m3)", "0-1:24.2.3(170102161005W)(2*m3)")
    assert [(each.name, each.value) for each in found] == [
        ("mbus_1_reading", 1),
        ("0-1:24.2.3", 2),
    ]


def test_a_heat_meter_s_line_has_several_objects_with_names_of_their_own() -> None:
    found = read(
        "6.8(0029055*kWh)6.26(01589.28*m3)9.21(06153690)",
        "6.26*01(01563.92*m3)6.8*01(0028942*kWh)",
        "F(0)6.35(60*m)6.33(001.476*m3ph)9.4(100.5*C&096.1*C)",
        "9.36(2026-11-27&05:47:19)9.24(1.5*m3ph)9.18()",
    )
    assert [(each.name, each.value, each.unit) for each in found] == [
        ("energy", 29055, "kWh"),
        ("volume", 1589.28, "m3"),
        ("customer", "06153690", None),
        ("volume_storage_1", 1563.92, "m3"),
        ("energy_storage_1", 28942, "kWh"),
        ("error_code", "0", None),
        ("measuring_period", 60, "min"),
        ("volume_flow_max", 1.476, "m3/h"),
        ("temperature_max/1", 100.5, "Cel"),
        ("temperature_max/2", 96.1, "Cel"),
        ("meter_clock", "2026-11-27&05:47:19", None),
        ("1-0:9.24", 1.5, "m3/h"),
    ]


def test_a_heat_meter_s_energy_is_not_an_electricity_meter_s_reactive_energy() -> None:
    assert read("6.8(0109.213*GJ)")[0].name == "energy"
    assert read("6.8(0109.213*kvarh)")[0].name == "reactive_energy_q2"
    assert read("6.8.0(0109.213*kvarh)")[0].name == "reactive_energy_q2"


def test_channel_1_of_a_meter_that_does_not_send_channel_0_has_the_usual_names() -> None:
    # Elster AS1440, Sagemcom XT211 and Swiss meters.
    found = read(
        "1-1:F.F(00000000)", "1-1:1.8.1(001595.070*kWh)", "1-1:2.7.0(00.000*kW)",
        "1-0:21.7.0(00.100*kW)", "1-2:1.8.1(1*kWh)", "1-1:31.4.0(100*A)(-063*A)",
    )  # fmt: skip
    assert [each.name for each in found] == [
        "error_code", "energy_import_t1", "power_export",
        "power_import_l1", "1-2:1.8.1", "current_limit_l1/1", "current_limit_l1/2",
    ]  # fmt: skip


def test_channel_1_keeps_its_codes_if_the_meter_sends_channel_0_too() -> None:
    found = read("1-1:1.8.0(1*kWh)", "1-0:1.8.0(2*kWh)", "1-1:1.8.1(3*kWh)", "1-1:2.8.0(4*kWh)")
    assert [each.name for each in found] == [
        "1-1:1.8.0", "energy_import", "1-1:1.8.1", "energy_export",
    ]  # fmt: skip


def test_a_period_of_00_is_the_present_one_only_if_no_register_is_without_a_period() -> None:
    pafal = read("0.0.0(71500000)", "1.8.1*00(019446.38)", "2.8.0*00(023813.75)")
    assert [(each.name, each.value) for each in pafal] == [
        ("meter_number", "71500000"),
        ("energy_import_t1", 19446.38),
        ("energy_export", 23813.75),
    ]
    elster = read("1-1:1.8.1(00403.807*kWh)", "1-1:1.8.1*00(00020.123*kWh)", "1-1:2.8.1*00(1*kWh)")
    assert [each.name for each in elster] == [
        "energy_import_t1", "1-1:1.8.1.00", "1-1:2.8.1.00",
    ]  # fmt: skip


def test_a_value_of_an_earlier_period_has_the_unit_of_the_present_one() -> None:
    found = read("1-1:1.8.0(00051206*kWh)", "1-1:1.8.0*18(00049555)", "1-1:2.8.0*18(00000001)")
    assert [(each.name, each.unit) for each in found] == [
        ("energy_import", "kWh"),
        ("1-1:1.8.0.18", "kWh"),
        ("1-1:2.8.0.18", None),
    ]


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("FF(00000000)", "error_code"),  # Iskraemeco MT171
        ("0-0:F.F.0*255(0000000)", "error_code"),  # Iskraemeco MT174
        ("0-0:C.1.0*255(62700000)", "meter_id"),
        ("0:0.0.0*255(1095100000000000)", "meter_number"),  # Hager eHZ
        ("0-0:0.0.0(123456789012)", "meter_number"),  # Sagemcom XT211 in Switzerland
        ("1-0:31.7.0.255(003*A)", "current_l1"),  # example of the DSMR 4.0 specification
        ("1-0:72:32.0(00002)", "voltage_sags_l3"),
        ("1-0:1.8.13(003421.613*kWh)", "energy_import_t13"),  # Kaifa with its own tariffs
        ("0-0:96.50.68(ON)", "switch"),  # Sanxing SX631 in Hungary
    ],
)
def test_an_unusual_spelling_of_a_code_has_the_usual_name(line: str, name: str) -> None:
    (found,) = read(line)
    assert found.name == name
