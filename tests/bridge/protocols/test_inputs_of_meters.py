"""Inputs of meters and chargers that deviate from their standard, each with the expected result."""

import pytest

from tests.bridge.protocols.input_files import only_frame_of, read, values

TELEGRAM = {
    "p1_version": "50",
    "meter_time": "260124170225W",
    "meter_id": "4530303030303030303030303030303030",
    "energy_import_t1": 26.413,
    "power_import": 0.383,
    "voltage_l1": 230.0,
}


@pytest.mark.parametrize(("name", "count"), [("p1-64-objects.txt", 64), ("p1-65-objects.txt", 65)])
def test_a_telegram_is_bounded_by_its_bytes_and_not_by_its_objects(name: str, count: int) -> None:
    (frame,), damaged, skipped = read(name)
    assert len(frame.quantities) == count
    assert (damaged, skipped) == ({}, {})


@pytest.mark.parametrize(
    ("name", "reason", "more"),
    [
        ("p1-gas-time-invalid-unit.txt", "time", {"mbus_1_type": "003"}),
        ("p1-kind-time-0.txt", "time", {}),
        ("p1-kind-time-1.txt", "time", {}),
        ("p1-kind-syntax-1.txt", "text", {}),
    ],
)
def test_an_odd_object_of_a_sound_telegram_costs_itself(
    name: str, reason: str, more: dict[str, object]
) -> None:
    (frame,), damaged, skipped = read(name)
    assert values(frame) == TELEGRAM | more
    assert (damaged, skipped) == ({}, {reason: 1})


@pytest.mark.parametrize(
    ("name", "energy"),
    [
        ("p1-kind-number-0.txt", 26107.7034231),
        ("p1-kind-number-2.txt", 26107.703),
        ("d0-q3d.txt", 26107.7034231),
    ],
)
def test_a_number_is_one_however_a_meter_writes_it(name: str, energy: float) -> None:
    (frame,), _, skipped = read(name)
    (found,) = frame.quantities["energy_import"]
    assert (found.value, found.unit, skipped) == (energy, "kWh", {})


def test_codes_with_255_in_place_of_a_tariff_have_their_names() -> None:
    (frame,), _, _ = read("d0-q3d.txt")
    assert values(frame) == {
        "meter_number": "0273000000000",
        "energy_import": 26107.7034231,
        "power_import_l1": 200.13,
        "power_import_l2": 122.37,
        "power_import_l3": 284.86,
        "power_import": 607.36,
        "meter_status": "82",
        "meter_id": "1ESY1000000000",
    }


def test_gas_identifiers_and_peaks_of_belgian_meters_have_names() -> None:
    frame = only_frame_of("p1-belgium.txt")
    found = values(frame)
    assert found["mbus_1_reading"] == 338.711
    assert found["mbus_2_reading"] == 29.535
    assert found["mbus_1_id"] == "37464C4F00000000000000000000"
    assert found["mbus_2_ean"] == "2D2D"
    assert found["power_peak"] == 3.291
    assert not [name for name in found if ":" in name]


def test_the_peaks_of_thirteen_months_are_readings_with_their_times_and_no_long_text() -> None:
    (frame,), _, _ = read("p1-belgium.txt")
    peaks = frame.quantities["power_peak_months"]
    assert len(peaks) == 13
    assert all(isinstance(each.value, float) and each.unit == "kW" for each in peaks)
    times = [each.time_seconds for each in peaks]
    assert times == sorted(times, key=lambda time: time or 0)
    assert (peaks[-1].value, times[-1]) == (1.603, 1765795500.0)  # 2025-12-15 11:45 UTC
    texts = [each for each in values(frame).values() if isinstance(each, str)]
    assert max(map(len, texts)) <= 255


def test_power_factors_without_a_unit_are_numbers() -> None:
    (frame,), damaged, skipped = read("p1-hungary.txt")
    found = values(frame)
    assert (damaged, skipped) == ({}, {})
    for name in ("power_factor", "power_factor_l1", "power_factor_l2", "power_factor_l3"):
        assert found[name] == 0.842
    assert found["tariff"] == "TARIFF 1"
    assert found["monthly_values/22"] == 0.1


def test_a_gas_meter_without_a_reading_gives_no_text_in_its_place() -> None:
    (frame,), damaged, skipped = read("p1-gas-without-reading.txt")
    assert values(frame) == {
        "meter_time": "260124170225W",
        "power_import": 0.383,
        "mbus_4_reading": 0,
    }
    assert (damaged, skipped) == ({}, {"not_measured": 2, "time": 1})


def test_an_odd_entry_of_a_log_costs_itself() -> None:
    (frame,), damaged, skipped = read("p1-log-with-bad-time.txt")
    assert [each.value for each in frame.quantities["power_failure_log"]] == [240, 100]
    assert [each.value for each in frame.quantities["power_peak_months"]] == [4.329]
    assert [(each.name, each.value) for each in frame.quantities["monthly_values"]] == [
        ("monthly_values/1", 663.924),
        ("monthly_values/3", 0.1),
    ]
    assert (damaged, skipped) == ({}, {"time": 2, "not_measured": 1})


def test_lines_may_end_with_cr_alone_and_a_message_may_look_like_a_beginning() -> None:
    (frame,), damaged, skipped = read("p1-carriage-returns.txt")
    assert values(frame) == {
        "meter_time": "260124170225W",
        "energy_import": 6678.394,
        "message": "see /ABC5",
        "current_limit_l1/1": 200,
        "current_limit_l1/2": -200,
    }
    assert (damaged, skipped) == ({}, {})


def test_hourly_readings_without_a_value_are_not_measured() -> None:
    (frame,), damaged, skipped = read("p1-dsmr22.txt")
    assert values(frame) == {
        "meter_id": "4B414D",
        "energy_import_t1": 12345.678,
        "power_limit": 999.0,
        "switch": "1",
        "mbus_1_type": "3",
        "mbus_1_reading": 4.125,
        "mbus_1_valve": "1",
    }
    assert frame.quantities["mbus_1_reading"][0].time_seconds == 1351602000.0
    assert (damaged, skipped) == ({}, {"not_measured": 2})


def test_peaks_are_numbers_in_whatever_form_their_time_is_written() -> None:
    (frame,), damaged, skipped = read("d0-answer-to-request.txt")
    assert values(frame) == {
        "error_code": "00",
        "meter_id": "12345678",
        "energy_import_t1": 26368.1,
        "1-0:1.8.1.01": 26000.1,
        "power_peak": 0.52,
        "1-0:1.6.1": 1.234,
        "1-0:C.2.1": "(0810221536)()",
        "current_l1": 2.1,
    }
    assert frame.quantities["power_peak"][0].time_seconds == 1398940200.0
    assert (damaged, skipped) == ({}, {"time": 1})


def test_two_telegrams_that_lost_what_was_between_them_are_never_one() -> None:
    frames, damaged, _ = read("d0-two-telegrams-in-one.txt")
    assert (frames, damaged) == ([], {"truncated": 1})


def test_two_way_meters_without_a_sign_show_the_direction_of_power_in_the_status_word() -> None:
    (importing,), _, _ = read("sml-ed300-import.bin")
    (exporting,), _, _ = read("sml-ed300-export.bin")
    names = ("meter_status", "power_direction", "power", "power_absolute")
    assert [values(importing)[name] for name in names] == [0x182, "import", 1234.0, 1234.0]
    assert [values(exporting)[name] for name in names] == [0x1A2, "export", -1234.0, 1234.0]


def test_a_block_of_a_solar_charger_with_a_wrong_checksum_is_damage() -> None:
    frames, damaged, skipped = read("vedirect.bin")
    assert [values(frame) for frame in frames] == [
        {
            "product_id": "0xA053",
            "battery_voltage": voltage,
            "battery_current": current,
            "panel_power": power,
            "state": state,
        }
        for voltage, current, power, state in ((12.8, -0.15, 0, "off"), (12.81, -0.16, 5, "bulk"))
    ]
    assert (damaged, skipped) == ({"checksum": 1}, {})


def test_groups_of_a_french_meter_are_read_with_the_meter_s_time() -> None:
    (frame,), damaged, skipped = read("linky-standard.bin")
    assert values(frame) == {
        "meter_id": "000000000000",
        "meter_time": "H260124170225",
        "energy_import": 15377101,
        "apparent_power": 766,
        "apparent_power_max": 4536,
    }
    assert frame.quantities["energy_import"][0].time_seconds == 1769270545.0
    assert (damaged, skipped) == ({}, {})


def test_a_value_against_the_form_of_sml_costs_its_entry() -> None:
    (frame,), damaged, skipped = read("sml-odd-entries.bin")
    assert values(frame) == {
        "manufacturer": "ISK",
        "energy_import": (2**64 - 1) / 10,
        "energy_export_t1": 1234500,
        "power": -1234.5,
        "voltage_l1": 230.1,
        "public_key": "1b" * 8,
        "meter_status": 0x1C0104,
    }
    assert (damaged, skipped) == ({}, {"sml": 1, "type": 1, "value": 1})


def test_what_a_battery_monitor_does_not_know_is_not_measured_and_a_cut_block_is_damage() -> None:
    frames, damaged, skipped = read("vedirect-bmv.bin")
    for frame in frames:
        assert values(frame) == {
            "product_id": "0x203",
            "battery_voltage": 12.8,
            "battery_current": -0.15,
            "power": -2,
            "alarm": False,
            "relay": True,
            "alarm_reason": 0,
            "model": "700",
            "firmware": "0307",
        }
    assert (len(frames), damaged, skipped) == (2, {"truncated": 1}, {"not_measured": 8})


def test_tariffs_and_phases_of_the_historic_mode_have_names() -> None:
    (frame,), damaged, skipped = read("linky-historic.bin")
    assert values(frame) == {
        "meter_id": "012345678901",
        "tariff_name": "BBR(",
        "current_limit": 45,
        "energy_import_blue_off_peak": 1234567,
        "energy_import_red_peak": 12,
        "tariff": "HPJB",
        "tomorrow": "----",
        "current_l1": 1,
        "current_l2": 2,
        "current_l3": 3,
        "apparent_power": 750,
        "off_peak_group": "A",
        "meter_status": "000000",
        "phase_potentials": "0E",
    }
    assert (damaged, skipped) == ({}, {})


def test_two_frames_that_lost_what_was_between_them_are_never_one() -> None:
    frames, damaged, _ = read("linky-two-frames-in-one.bin")
    assert (frames, damaged) == ([], {"truncated": 1})
