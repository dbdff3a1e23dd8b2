"""Lists of values without codes, in the orders of different makers."""

from collections import Counter

import pytest
from firmware_bridge.protocols.dlms_data import data_at
from firmware_bridge.protocols.dlms_values import read_values
from firmware_bridge.protocols.frame import Damaged

from tests.bridge.protocols.dlms_meter import (
    obis,
    octets,
    structure,
    text,
    time,
    u16,
    u32,
)
from tests.bridge.protocols.test_dlms_values import read


def test_kaifa_in_norway_has_no_codes_but_an_order() -> None:
    head = (b"\x09\x07KFM_001", b"\x09\x05" + b"69706", b"\x09\x08MA304H3E")
    numbers = tuple(map(u32, (1176, 0, 0, 5, 4910, 0, 7050, 2330, 0, 2340)))
    energies = (time(), *map(u32, (10_000, 0, 7, 8)))
    assert read(structure(u32(1176))) == {"power_import": (1176, "W")}
    found = read(structure(*head, *numbers, *energies))
    assert len(found) == 18
    assert found["list_version"] == ("KFM_001", None)
    assert found["current_l1"] == (4.91, "A")
    assert found["voltage_l3"] == (234.0, "V")
    assert found["energy_import"] == (10_000, "Wh")
    assert found["meter_time"] == ("2026-11-26 10:42:05", None)


def test_a_meter_in_vienna_has_no_codes_but_an_order() -> None:
    numbers = (5107912, 0, 1126903, 566784, 230, 0, 88, 21)
    assert read(structure(time(), *map(u32, numbers))) == {
        "meter_time": ("2026-11-26 10:42:05", None),
        "energy_import": (5107912, "Wh"),
        "energy_export": (0, "Wh"),
        "reactive_energy_import": (1126903, "varh"),
        "reactive_energy_export": (566784, "varh"),
        "power_import": (230, "W"),
        "power_export": (0, "W"),
        "reactive_power_import": (88, "var"),
        "reactive_power_export": (21, "var"),
    }


@pytest.mark.parametrize("count", [9, 13, 14, 18])
def test_a_list_of_numbers_in_an_unknown_order_is_no_list_of_kaifa(count: int) -> None:
    with pytest.raises(Damaged, match="layout"):
        read(structure(time(), *map(u16, range(count - 2)), text("X")))


def test_an_am550_in_slovenia_has_orders_of_its_own() -> None:
    device, ean = octets(b"ISK1030789000000"), octets(b"16820005")
    momentary = (*map(u32, (1393, 0, 0, 738)), *map(u16, (2379, 2380, 2296, 103, 125, 597)))
    found = read(structure(device, ean, *momentary, *map(u32, (16, 51, 1325, 0, 0, 7))))
    assert len(found) == 18
    assert found["logical_device"] == ("ISK1030789000000", None)
    assert found["power_import"] == (1393, "W")
    assert found["reactive_power_export"] == (738, "var")
    assert found["voltage_l3"] == (229.6, "V")
    assert found["current_l3"] == (5.97, "A")
    assert found["power_import_l3"] == (1325, "W")
    assert found["power_export_l3"] == (7, "W")

    registers = map(u32, (30, 10, 20, 5, 2, 3, 7, 8))
    tariff = octets(b"\x00\x02")
    assert read(structure(device, octets(b"16820015"), u16(1), tariff, *registers)) == {
        "logical_device": ("ISK1030789000000", None),
        "0-0:96.1.3": ("16820015", None),
        "switch": (1, None),
        "tariff": ("0002", None),
        "energy_import": (30, "Wh"),
        "energy_import_t1": (10, "Wh"),
        "energy_import_t2": (20, "Wh"),
        "energy_export": (5, "Wh"),
        "energy_export_t1": (2, "Wh"),
        "energy_export_t2": (3, "Wh"),
        "reactive_energy_import": (7, "varh"),
        "reactive_energy_export": (8, "varh"),
    }


def test_an_am550_of_another_distributor_begins_with_voltages() -> None:
    numbers = (*map(u16, (2313, 2303, 2348, 483, 527, 86)), *map(u32, (2375, 0, 0, 281)))
    found = read(structure(octets(b"ISK1030789000000"), octets(b"UP_3f"), *numbers))
    assert found == {
        "logical_device": ("ISK1030789000000", None),
        "list_version": ("UP_3f", None),
        "voltage_l1": (231.3, "V"), "voltage_l2": (230.3, "V"), "voltage_l3": (234.8, "V"),
        "current_l1": (4.83, "A"), "current_l2": (5.27, "A"), "current_l3": (0.86, "A"),
        "power_import": (2375, "W"), "power_export": (0, "W"),
        "reactive_power_import": (0, "var"), "reactive_power_export": (281, "var"),
    }  # fmt: skip


def test_an_am550_with_the_code_of_its_list_loses_no_register() -> None:
    found = read(
        structure(
            obis(0, 6, 25, 9, 0, 255), octets(b"1121378000000"), octets(b"\x15\x0b\x11\x00"),
            octets(b"\x07\xe8\x05\x07\x02"), *map(u32, (14370048, 420837, 1455864, 2294960, 9, 0)),
            octets(b""), octets(b""),
        )
    )  # fmt: skip
    assert found == {
        "0-6:25.9.0": ("1121378000000", None),
        "energy_import": (14370048, "Wh"),
        "energy_export": (420837, "Wh"),
        "reactive_energy_import": (1455864, "varh"),
        "reactive_energy_export": (2294960, "varh"),
        "power_import": (9, "W"),
        "power_export": (0, "W"),
    }


def test_an_am550_with_one_phase_has_shorter_lists() -> None:
    # The list of 9 is from a recording in a public bug report.
    device, ean = octets(b"ISK1030784000000"), octets(b"ISK84600000")
    powers = tuple(map(u32, (592, 0, 0, 112)))
    read_powers = {
        "logical_device": ("ISK1030784000000", None),
        "ean": ("ISK84600000", None),
        "power_import": (592, "W"), "power_export": (0, "W"),
        "reactive_power_import": (0, "var"), "reactive_power_export": (112, "var"),
        "voltage_l1": (231.3, "V"),
    }  # fmt: skip
    registers = {"energy_export_t1": (30, "Wh"), "energy_export_t2": (4, "Wh")}
    assert read(structure(device, ean, *powers, u16(2313), u32(30), u32(4))) == {
        **read_powers, **registers,
    }  # fmt: skip
    assert read(structure(device, ean, *powers, u16(2313), u16(261), u32(592), u32(0))) == {
        **read_powers, "current_l1": (2.61, "A"),
        "power_import_l1": (592, "W"), "power_export_l1": (0, "W"),
    }  # fmt: skip
    assert read(structure(device, ean, u16(2313), u16(261), *powers)) == {
        **{name: value for name, value in read_powers.items() if name != "ean"},
        "list_version": ("ISK84600000", None), "current_l1": (2.61, "A"),
    }  # fmt: skip
    found = read(structure(device, ean, *map(u32, (1, 2, 30, 4, 5, 6, 7, 8))))
    assert registers.items() <= found.items()
    assert found["energy_import_t1"] == (1, "Wh")
    assert found["reactive_energy_export_t2"] == (8, "varh")


def test_an_e450_with_eleven_values_begins_with_voltages() -> None:
    # From a recording in a public bug report.
    numbers = (*map(u16, (228, 226, 230, 781, 1482, 643)), *map(u32, (5432, 0, 40091000, 0)))
    assert read(structure(*numbers, octets(b"30000000"))) == {
        "voltage_l1": (228, "V"), "voltage_l2": (226, "V"), "voltage_l3": (230, "V"),
        "current_l1": (7.81, "A"), "current_l2": (14.82, "A"), "current_l3": (6.43, "A"),
        "power_import": (5432, "W"), "power_export": (0, "W"),
        "energy_import": (40091000, "Wh"), "energy_export": (0, "Wh"),
        "meter_id": ("30000000", None),
    }  # fmt: skip


def test_an_ie5_in_croatia_counts_the_values_that_are_unknown() -> None:
    registers = (
        6844286,
        4770658,
        2073628,
        5759375,
        5708359,
        51016,
        1510550,
        1228222,
        55401,
        1345707,
    )
    powers = map(u32, (17, 216, 88, 0, 0, 0))
    units = map(u16, (2366, 2314, 2344, 30, 117, 48))
    data = structure(
        octets(b"92020000"), octets(b"\x0f\x20\x0a\x00"), octets(b"\x07\xe9\x0c\x03\x03"),
        *map(u32, registers), u32(322), u32(0), u16(897), *powers, *units,
        *map(u32, range(3)), octets(b""), b"\x00",
    )  # fmt: skip
    skipped: Counter[str] = Counter()
    quantities = read_values(data_at(data, 0)[0], skipped)
    found = {name: (each.value, each.unit) for name, (each,) in quantities.items()}
    assert skipped == {"layout": 3}
    assert len(found) == 26
    assert found["meter_id"] == ("92020000", None)
    assert found["energy_import"] == (6844286, "Wh")
    assert found["energy_export_t2"] == (51016, "Wh")
    assert found["reactive_energy_q4"] == (1345707, "varh")
    assert found["power_import"] == (322, "W")
    assert found["power_factor"] == (0.897, None)
    assert found["power_import_l3"] == (88, "W")
    assert found["voltage_l3"] == (234.4, "V")
    assert found["current_l2"] == (1.17, "A")
