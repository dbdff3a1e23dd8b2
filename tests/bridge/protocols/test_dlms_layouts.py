"""Messages from meters of different makers, each in its own layout."""

from collections import Counter

from firmware_bridge.protocols.dlms_data import data_at
from firmware_bridge.protocols.dlms_values import read_values

from tests.bridge.protocols.dlms_meter import (
    WH,
    W,
    array,
    obis,
    octets,
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
        "list_version": ("Kamstrup_V0001", None),
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
        "meter_time": ("2026-11-26 10:42:05", None),
    }


def test_the_number_at_the_end_of_an_austrian_list_has_no_code() -> None:
    data = structure(
        obis(0, 0, 1, 0, 0, 255), time(),
        obis(1, 0, 1, 7, 0, 255), u32(5), scale(0, W),
        obis(1, 0, 13, 7, 0, 255), b"\x10\x03\xdb", scale(-3, 255),
        octets(b"181220000009"),
    )  # fmt: skip
    assert read(data) == {
        "meter_time": ("2026-11-26 10:42:05", None),
        "power_import": (5, "W"),
        "power_factor": (0.987, None),
        "meter_id": ("181220000009", None),
    }


def test_the_value_of_the_last_code_is_no_number_of_the_meter() -> None:
    data = structure(obis(1, 0, 1, 7, 0, 255), u32(5), obis(0, 0, 96, 13, 0, 255), octets(b"text"))
    assert read(data) == {"power_import": (5, "W"), "message": ("text", None)}


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


def test_a_number_of_16_bits_is_published_as_a_plain_integer() -> None:
    quantities = read_values(
        data_at(structure(obis(1, 0, 32, 7, 0, 255), u16(238)), 0)[0], Counter()
    )
    assert type(quantities["voltage_l1"][0].value) is int


def test_an_e450_without_units_sends_reactive_energy_by_quadrant() -> None:
    found = read(array(*(structure(obis(1, 1, c, 8, 0, 255), u32(c)) for c in range(5, 9))))
    assert found == {f"reactive_energy_q{c - 4}": (c, "varh") for c in range(5, 9)}


def test_a_list_of_objects_may_have_restrictions_and_columns() -> None:
    def listed(code: bytes) -> bytes:
        restriction = structure(b"\x16\x00", b"\x00")
        return structure(u16(1), code, b"\x0f\x02", u16(0), restriction, array())

    objects = array(listed(obis(0, 0, 25, 9, 0, 255)), listed(obis(0, 0, 42, 0, 0, 255)),
                    listed(obis(1, 0, 1, 8, 0, 255)))  # fmt: skip
    assert read(structure(objects, b"\x16\x01", octets(b"EMR0"), u32(16))) == {
        "0-0:25.9.0": (1, None),
        "logical_device": ("EMR0", None),
        "energy_import": (16, "Wh"),
    }


def test_a_scaler_and_a_unit_may_follow_without_a_structure() -> None:
    data = structure(
        obis(1, 0, 32, 7, 0, 255), u16(2301), b"\x0f\xff", b"\x16\x23",
        obis(1, 0, 1, 8, 0, 255), u32(5), b"\x0f\x01", b"\x16\x1e",
    )  # fmt: skip
    assert read(data) == {"voltage_l1": (230.1, "V"), "energy_import": (50, "Wh")}


def test_a_landis_and_gyr_in_norway_swaps_tag_and_length_of_a_code() -> None:
    # ZMF100: the codes of currents begin with 06 09, and registers have the medium 0.
    data = array(
        structure(b"\x06\x09" + bytes((1, 0, 31, 7, 0, 255)), u16(244), scale(-2, 33)),
        structure(obis(1, 0, 32, 7, 0, 255), u16(2330), scale(-1, 35)),
        structure(obis(0, 0, 1, 8, 0, 255), u32(34479), scale(0, WH)),
        structure(obis(1, 0, 1, 7, 0, 255), u32(0x09010007), scale(0, W)),
    )
    assert read(data) == {
        "current_l1": (2.44, "A"),
        "voltage_l1": (233.0, "V"),
        "energy_import": (34479, "Wh"),
        "power_import": (0x09010007, "W"),
    }
