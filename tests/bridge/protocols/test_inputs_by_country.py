"""Inputs of meters with the peculiarities of a country or a manufacturer."""

from tests.bridge.protocols.input_files import only_frame_of, values


def test_a_belgian_meter_with_its_registers_on_channel_1_has_the_usual_names() -> None:
    frame = only_frame_of("p1-channel-1.txt")
    found = values(frame)
    assert found["energy_import_t1"] == 1595.07
    assert found["energy_import_t2"] == 5216.778
    assert found["energy_export_t1"] == 4478.038
    assert found["power_import"] == 1.622
    assert found["power_peak"] == 15.206
    assert "monthly_values" not in found


def test_a_load_profile_and_tariffs_above_eight_have_names() -> None:
    frame = only_frame_of("p1-load-profile.txt")
    found = values(frame)
    assert (found["energy_import_t11"], found["energy_import_t13"]) == (849.71, 3421.613)
    assert (found["interval_values/1"], found["interval_values/2"]) == (0.165, 0.0)
    (first, second) = frame.quantities["interval_values"]
    assert (first.time_seconds, second.unit) == (1769270400.0, "kWh")


def test_a_swedish_meter_keeps_winter_time_in_summer() -> None:
    frame = only_frame_of("p1-sweden.txt")
    (energy,) = frame.quantities["energy_import"]
    assert (energy.value, energy.unit, energy.time_seconds) == (7225.264, "kWh", 1784908945.0)
    assert frame.quantities["reactive_energy_import"][0].unit == "kvarh"
    assert frame.quantities["reactive_power_export"][0].unit == "kvar"


def test_values_of_earlier_periods_keep_their_codes_and_get_their_units() -> None:
    frame = only_frame_of("d0-elster.txt")
    assert [(each.name, each.value, each.unit) for (each,) in frame.quantities.values()] == [
        ("error_code", "00000000", None),
        ("meter_clock", "115723", None),
        ("power_import", 0.00012, "kW"),
        ("1-1:1.6.1", 27.19, "kW"),
        ("1-1:1.6.1.18", 28.74, "kW"),
        ("energy_import_t1", 51206, "kWh"),
        ("1-1:1.8.1.00", 49555, "kWh"),
        ("1-2:1.8.0", 0.0, "kWh"),
        ("1-0:33.25", 0.83, "/"),
    ]


def test_meters_that_write_every_register_with_period_00_have_the_usual_names() -> None:
    frame = only_frame_of("d0-pafal.txt")
    assert values(frame) == {
        "meter_number": "71500000",
        "error_code": "00",
        "1-0:0.2.0": "1.27",
        "energy_import": 19446.38,
        "energy_export": 23813.75,
    }


def test_an_error_and_an_identifier_have_names_in_whatever_medium_they_are_written() -> None:
    frame = only_frame_of("d0-mt174.txt")
    assert values(frame) == {
        "error_code": "0000000",
        "meter_id": "62700000",
        "energy_import_t1": 54321,
        "power_factor_l1": 0.866,
        "meter_number": "352143",
    }
