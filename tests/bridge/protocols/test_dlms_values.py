"""Values, times and texts in the messages of meters."""

from collections import Counter

import pytest
from firmware_bridge.protocols.dlms_data import Enumerated, data_at
from firmware_bridge.protocols.dlms_values import read_values, time_text
from firmware_bridge.protocols.frame import Damaged

from tests.bridge.protocols.dlms_meter import (
    AIDON,
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


def read(data: bytes) -> dict[str, tuple[object, str | None]]:
    skipped: Counter[str] = Counter()
    quantities = read_values(data_at(data, 0)[0], skipped)
    assert not skipped
    return {name: (each.value, each.unit) for name, (each,) in quantities.items()}


def test_aidon_has_scaler_and_unit_with_each_code() -> None:
    assert read(AIDON[6:]) == {
        "list_version": ("AIDON_V0001", None),
        "meter_time": ("2026-11-26 10:42:05", None),
        "power_import": (1255, "W"),
        "voltage_l1": (233.4, "V"),
        "current_l1": (2.7, "A"),
        "energy_import": (1234560, "Wh"),
    }


def test_a_text_has_no_zeros_at_its_end_and_an_empty_one_is_no_value() -> None:
    data = structure(
        obis(0, 0, 96, 14, 0, 255), b"\x09\x08RATE2\0\0\0",
        obis(0, 0, 96, 13, 0, 255), b"\x09\x00",
        obis(0, 0, 96, 13, 1, 255), b"\x0a\x00",
        obis(0, 0, 96, 1, 0, 255), b"\x09\x02\0\0",
        obis(1, 0, 1, 7, 0, 255), u32(0), scale(0, W),
    )  # fmt: skip
    assert read(data) == {
        "tariff": ("RATE2", None),
        "meter_id": ("0000", None),
        "power_import": (0, "W"),
    }


def test_a_second_code_with_the_same_name_is_named_by_its_code() -> None:
    # Iskraemeco AM550 in Switzerland
    data = structure(
        obis(0, 0, 96, 1, 0, 255), text("84895126"), obis(0, 0, 96, 1, 1, 255), text("160456"),
        obis(1, 0, 1, 7, 0, 255), u32(5), scale(0, W),
        obis(1, 0, 1, 7, 0, 255), u32(5), scale(0, W),
    )  # fmt: skip
    assert read(data) == {
        "meter_id": ("84895126", None),
        "0-0:96.1.1": ("160456", None),
        "power_import": (5, "W"),
    }


def test_meters_on_channels_have_types_as_texts_and_unused_channels_no_identifier() -> None:
    data = structure(
        obis(0, 1, 24, 1, 0, 255), b"\x11\x07", obis(0, 1, 96, 1, 0, 255), text("24521662"),
        obis(0, 1, 24, 2, 1, 255), u32(30545), scale(-3, 13),
        obis(0, 1, 24, 4, 0, 255), b"\x16\x01", obis(0, 2, 96, 1, 0, 255), b"\x09\x01\0",
        obis(7, 0, 43, 0, 0, 255), u32(5), scale(-3, 15),
        obis(7, 0, 42, 0, 0, 255), u32(10), scale(-1, 24),
    )  # fmt: skip
    assert read(data) == {
        "mbus_1_type": ("7", None),
        "mbus_1_id": ("24521662", None),
        "mbus_1_reading": (30.545, "m3"),
        "mbus_1_valve": ("1", None),
        "7-0:43.0.0": (0.005, "m3/h"),
        "7-0:42.0.0": (1.0, "bar"),
    }


def test_a_value_that_cannot_be_read_costs_itself() -> None:
    skipped: Counter[str] = Counter()
    data = structure(
        obis(1, 0, 1, 7, 0, 255), text("high"), obis(1, 0, 2, 7, 0, 255), u32(5), scale(99, W),
        obis(0, 0, 1, 0, 0, 255), time(0xFFFF), obis(1, 0, 1, 8, 0, 255), u32(5), scale(0, WH),
        obis(1, 0, 2, 8, 0, 255), b"\x00", obis(1, 0, 3, 8, 0, 255), array(u16(1)),
    )  # fmt: skip
    quantities = read_values(data_at(data, 0)[0], skipped)
    assert list(quantities) == ["energy_import"]
    assert skipped == {"type": 2, "value": 1, "time": 1}


def test_a_message_in_no_known_layout_is_damage() -> None:
    for data in (5, [], [1, 2], [Enumerated(1)]):
        with pytest.raises(Damaged, match="layout"):
            read_values(data, Counter())  # type: ignore[arg-type]


def test_a_time_is_the_meter_s() -> None:
    assert time_text(time()[2:]) == "2026-11-26 10:42:05"
    for never_set in (time(0), time(2026)[:4] + bytes(10)):
        with pytest.raises(Damaged, match="time"):
            time_text(never_set[2:])


def test_a_number_that_no_code_explains_is_counted() -> None:
    skipped: Counter[str] = Counter()
    data = structure(
        obis(1, 0, 1, 7, 0, 255), u32(5), scale(0, W), u16(7), structure(u32(1), u32(2))
    )  # fmt: skip
    assert read_values(data_at(data, 0)[0], skipped).keys() == {"power_import"}
    assert skipped == {"layout": 3}
