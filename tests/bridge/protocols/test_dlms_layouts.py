"""Messages from meters of different makers, each in its own layout."""

import pytest
from firmware_bridge.protocols.frame import Damaged

from tests.bridge.protocols.dlms_meter import (
    WH,
    W,
    array,
    obis,
    scale,
    structure,
    text,
    time,
    u16,
    u32,
)
from tests.bridge.protocols.test_dlms_values import read


def test_a_list_of_one_structure_is_no_list_of_kaifa() -> None:
    data = array(structure(obis(1, 0, 1, 7, 0, 255), u32(5), scale(0, W)))
    assert read(data) == {"power_import": (5, "W")}


def test_codes_may_be_flat_as_in_austria() -> None:
    data = structure(
        obis(0, 0, 1, 0, 0, 255), time(),
        obis(1, 0, 1, 8, 0, 255), u32(1000), scale(0, WH),
        obis(1, 0, 1, 7, 0, 255), u32(5), scale(1, W),
        obis(0, 0, 96, 1, 0, 255), b"\x09\x03" + b"123",
    )  # fmt: skip
    assert read(data) == {
        "meter_time": ("2026-11-26 10:42:05", None),
        "energy_import": (1000, "Wh"),
        "power_import": (50, "W"),
        "meter_id": ("123", None),
    }


def test_kamstrup_leaves_units_out() -> None:
    data = structure(
        text("Kamstrup_V0001"),
        obis(1, 1, 0, 0, 5, 255), text("5706567000000000"),
        obis(1, 1, 96, 1, 1, 255), text("6841121BN243101040"),
        obis(1, 1, 1, 7, 0, 255), u32(1500),
        obis(1, 1, 31, 7, 0, 255), u32(653),
        obis(1, 1, 32, 7, 0, 255), u16(231),
        obis(0, 1, 1, 0, 0, 255), time(),
        obis(1, 1, 1, 8, 0, 255), u32(123456),
        obis(1, 1, 3, 8, 0, 255), u32(7),
        obis(1, 1, 0, 0, 1, 255), u32(12345678),
        obis(1, 1, 41, 7, 0, 255), u32(424),
        obis(1, 1, 63, 7, 0, 255), u32(9),
        obis(1, 1, 13, 7, 0, 255), u16(83),
        obis(1, 1, 33, 7, 0, 255), u16(31),
        obis(1, 1, 21, 8, 0, 255), u32(1211644),
    )  # fmt: skip
    assert read(data) == {
        "meter_number": ("5706567000000000", None),
        "meter_type": ("6841121BN243101040", None),
        "power_import": (1500, "W"),
        "current_l1": (6.53, "A"),
        "voltage_l1": (231, "V"),
        "meter_time": ("2026-11-26 10:42:05", None),
        "energy_import": (1234560, "Wh"),
        "reactive_energy_import": (70, "varh"),
        "1-0:0.0.1": (12345678, None),
        "power_import_l2": (424, "W"),
        "reactive_power_import_l3": (9, "var"),
        "power_factor": (0.83, None),
        "power_factor_l1": (0.31, None),
        "energy_import_l1": (12116440, "Wh"),
    }


def test_an_e450_in_switzerland_sends_codes_and_values_without_units() -> None:
    data = structure(
        time(),
        obis(1, 0, 1, 8, 0, 255), u32(12048950), obis(1, 0, 1, 7, 0, 255), u32(545),
        obis(1, 0, 2, 8, 1, 255), u32(18054), obis(1, 0, 4, 8, 0, 255), u32(9801363),
        obis(1, 0, 4, 7, 0, 255), u32(379), obis(1, 0, 32, 7, 0, 255), u16(238),
    )  # fmt: skip
    assert read(data) == {
        "energy_import": (12048950, "Wh"),
        "power_import": (545, "W"),
        "energy_export_t1": (18054, "Wh"),
        "reactive_energy_export": (9801363, "varh"),
        "reactive_power_export": (379, "var"),
        "voltage_l1": (238, None),
    }


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


def test_landis_and_gyr_names_the_objects_before_their_values() -> None:
    def listed(code: bytes, attribute: int = 2) -> bytes:
        return structure(u16(3), code, bytes((0x0F, attribute)), u16(0))

    objects = array(
        listed(obis(0, 8, 25, 9, 0, 255)),
        listed(obis(0, 0, 96, 1, 0, 255)),
        listed(obis(1, 0, 1, 7, 0, 255)),
        listed(obis(1, 0, 1, 8, 0, 255)),
        listed(obis(1, 1, 31, 7, 0, 255)),
    )
    data = structure(objects, b"\x09\x03" + b"123", u32(500), u32(123456), u16(4))
    assert read(data) == {
        "meter_id": ("123", None),
        "power_import": (500, "W"),
        "energy_import": (123456, "Wh"),
        "current_l1": (4, None),
    }


@pytest.mark.parametrize("count", [9, 13, 14, 18])
def test_a_list_of_numbers_in_an_unknown_order_is_no_list_of_kaifa(count: int) -> None:
    with pytest.raises(Damaged, match="layout"):
        read(structure(time(), *map(u16, range(count - 2)), text("X")))
