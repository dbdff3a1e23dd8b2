"""The objects of a telegram: several in a line, and codes that share a name."""

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
