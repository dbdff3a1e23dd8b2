"""Values in a telegram of an M-Bus meter."""

import contextlib
from collections import Counter

import pytest
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.mbus_records import Header, read_records
from hypothesis import given
from hypothesis import strategies as st

WATER = Header("12345678", "PAD", 1, 7, 0)
HEAT = Header("12345678", "KAM", 1, 4, 0)
GAS = Header("12345678", "ELS", 1, 3, 0)


def read(data: str, header: Header = HEAT) -> dict[str, tuple[object, str | None]]:
    quantities, _ = read_records(bytes.fromhex(data), header, Counter())
    return {name: (each.value, each.unit) for name, (each,) in quantities.items()}


@pytest.mark.parametrize(
    ("data", "name", "value", "unit"),
    [
        ("04 06 40e20100", "energy", 123456, "kWh"),
        ("04 03 40e20100", "energy", 123.456, "kWh"),
        ("04 86 3c 05000000", "energy_export", 5, "kWh"),
        ("04 fb 01 05000000", "energy", 5000, "kWh"),
        ("0c 0f 12345678", "energy", 785634120000000, "J"),
        ("02 2b dcff", "power", -36, "W"),
        ("12 2b 0a00", "power_max", 10, "W"),
        ("22 2b 0a00", "power_min", 10, "W"),
        ("44 06 01000000", "energy_storage_1", 1, "kWh"),
        ("c4 01 06 01000000", "energy_storage_3", 1, "kWh"),
        ("84 10 06 01000000", "energy_t1", 1, "kWh"),
        ("84 40 06 01000000", "energy_unit_1", 1, "kWh"),
        ("0a 5a 5406", "flow_temperature", 65.4, "Cel"),
        ("02 6a 1500", "pressure", 2100, "hPa"),
        ("02 fd 48 f608", "voltage", 229.4, "V"),
        ("02 fd c8 fc 01 f608", "voltage_l1", 229.4, "V"),
        ("02 fd 59 e803", "current", 1.0, "A"),
        ("04 93 77 01000000", "volume", 0.01, "m3"),
        ("04 93 7d 01000000", "volume", 1, "m3"),
        ("05 5b 0000c841", "flow_temperature", 25.0, "Cel"),
        ("42 6c 3f3c", "date_storage_1", "2025-12-31", None),
        ("04 6d 2a0a5a3b", "date_time", "2026-11-26 10:42", None),
        ("01 fd 17 80", "error_flags", 128, None),
        ("02 fd 17 00ff", "error_flags", 65280, None),
        ("01 fd 08 9f", "access_number", 159, None),
        ("0c 78 78563412", "fabrication_number", "12345678", None),
        ("0d fd 0c 04 31302e31", "model", "1.01", None),
        ("0d fd 3a c2 3412", "value", 1234, None),
        ("02 7c 03 545342 0500", "BST", 5, None),
        ("04 7c 05 687261766b 05000000", "kvarh", 5, "kvarh"),
        ("02 7c 02 43b0 fa00", "C", 250, "Cel"),
        ("02 ff 81 00 0500", "vif_7f_01_00", 5, None),
        # Elvaco CMa10; the same unit in the order of later editions; Itron Cyble
        ("02 fc 03 485225 74 3412", "humidity", 46.6, "%RH"),
        ("02 fc 74 03 485225 3412", "humidity", 46.6, "%RH"),
        ("0d 7c 08 4449202e74737563 0a 3535373637302020 2020", "cust._ID", "076755", None),
        ("0d fd 0c 06 000000312e31", "model", "1.1", None),
        # a return flow; a bus address above 127; the lowest number but one
        ("0b 3b 3412f0", "volume_flow", -1.234, "m3/h"),
        ("01 7a c8", "bus_address", 200, None),
        ("04 78 00000080", "fabrication_number", "2147483648", None),
        ("02 3b 0180", "volume_flow", -32.767, "m3/h"),
        # Landis+Gyr G350; Landis+Gyr Ultraheat T230; Sensus PolluStat; the time of day
        ("46 6d 000008162700", "date_time_storage_1", "2016-07-22 08:00:00", None),
        ("94 10 da 6f 32147a18", "flow_temperature_time_max_t1", "2011-08-26 20:50", None),
        ("04 be 50 71bbb000", "volume_flow_lower_limit_first_duration", 11582321, "s"),
        ("03 6d 1e2a0a", "date_time", "10:42:30", None),
        ("04 90 28 08000000", "volume_vife_28", 0.000008, "m3/pulse"),
        (
            "0d 7c 02 5750 f0" + "96075b2a27a693013db51ab3dcd13e17",
            "PW",
            "173ed1dcb31ab53d0193a6272a5b0796",
            None,
        ),
    ],
)
def test_a_value_has_its_name_number_and_unit(
    data: str, name: str, value: object, unit: str | None
) -> None:
    assert read(data) == {name: (value, unit)}


def test_volumes_of_water_and_gas_have_names_of_their_own() -> None:
    assert read("03 13 153100", WATER) == {"water_volume": (12.565, "m3")}
    assert read("03 13 153100", GAS) == {"gas_volume": (12.565, "m3")}
    assert read("03 13 153100", HEAT) == {"volume": (12.565, "m3")}


def test_fillers_are_passed_over_and_what_is_the_maker_s_ends_the_values() -> None:
    assert read("2f 2f 04 06 01000000 0f ff ff") == {"energy": (1, "kWh")}
    _, more = read_records(bytes.fromhex("04 06 01000000 1f"), HEAT, Counter())
    assert more


def test_a_second_value_of_one_name_is_counted_in_it() -> None:
    assert set(read("04 06 01000000 04 06 02000000")) == {"energy", "energy_2"}


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        ("04 86 15 01000000", "not_measured"),
        ("0c 06 ab000000", "value"),
        ("04 6d aa0a5a3b", "time"),
        ("05 5b 0000c07f", "value"),
        ("0d fd 0c 04 20202020", "not_measured"),
        ("3b 2d 999999", "not_measured"),  # Itron CF Echo II without a flow
        ("46 6d 008008162700", "time"),
        ("04 6d 0000e1f1", "time"),
        ("03 6d ffffff", "time"),
        ("94 10 da 6f 00000000", "time"),
        ("07 fd 17 ffffffffffffffff", "value"),
        ("02 7c 46" + "41" * 70 + "0500", "name"),
        ("02 5a 0080", "not_measured"),  # -3276.8 degrees
        ("04 5a 00000080", "not_measured"),
        ("02 3b 0080", "not_measured"),  # the flow of a meter that is measuring for the first time
        ("04 13 00000080", "not_measured"),
        ("07 03 0000000000000080", "not_measured"),
        ("0a 5a eeee", "not_measured"),
        ("0c 13 ffffffff", "not_measured"),
        ("0b 3b dddddd", "not_measured"),
        ("0d 13 c4 eeeeeeee", "not_measured"),
    ],
)
def test_a_value_that_cannot_be_read_costs_itself(data: str, reason: str) -> None:
    skipped: Counter[str] = Counter()
    quantities, _ = read_records(bytes.fromhex(data + "02 2b 0100"), HEAT, skipped)
    assert list(quantities) == ["power"]
    assert skipped == {reason: 1}


def test_a_value_that_is_cut_is_damage() -> None:
    for data in ("04 06 0100", "04", "0d 78", "0d 78 fb", "84 80 80 80 80 80 80 80 80 80 80 80 06"):
        with pytest.raises(Damaged, match="length"):
            read(data)


def test_a_value_that_is_cut_does_not_cost_those_before() -> None:
    skipped: Counter[str] = Counter()
    quantities, more = read_records(bytes.fromhex("02 2b 0100 04 06 0100"), HEAT, skipped)
    assert (list(quantities), more, skipped) == (["power"], False, {"length": 1})


def test_a_header_names_the_meter_and_a_truncated_one_is_damage() -> None:
    header = bytes.fromhex("78563412 2440 01 07 55 00 0000")
    found = Header.of(header)
    assert {each.name: each.value for each in found.measurements()} == {
        "meter_number": "12345678",
        "manufacturer": "PAD",
        "medium": "water",
        "meter_status": 0,
    }
    with pytest.raises(Damaged, match="length"):
        Header.of(header[:5])


@given(st.binary(max_size=120))
def test_no_bytes_make_it_raise_anything_but_damage(data: bytes) -> None:
    with contextlib.suppress(Damaged):
        read_records(data, HEAT, Counter())
