"""Codes that mean "no value": how they are written, and to which registers they apply."""

from typing import Any

import pytest
from firmware_bridge.protocols.no_value import NoValue, no_values_for
from pydantic_core import PydanticCustomError

from tests.bridge.protocols.test_modbus_register import read


@pytest.mark.parametrize(
    ("form", "raw", "expected"),
    [
        ("u16", "FFFF", "no_value"),
        ("i16", "8000", "no_value"),
        ("i16", "FFFF", -1),
        ("u32", "0000FFFF", 65535),
        ("u32", "FFFFFFFF", "no_value"),
        ("i32", "80000000", "no_value"),
        ("i32", "FFFFFFFF", -1),
        ("f32", "C61C3C00", "no_value"),
        ("f32", "477FFF00", 65535.0),
        ("i16", "D8F1", -9999),
    ],
)
def test_the_numbers_of_a_device_hold_for_registers_of_their_size(
    form: Any, raw: str, expected: object
) -> None:
    numbers = (0xFFFF, 0x8000, 0xFFFFFFFF, 0x80000000, -9999.0)
    assert read(bytes.fromhex(raw), type=form, no_value=no_values_for(numbers, form)) == expected


@pytest.mark.parametrize("written", [True, "none", 1 << 64, -(1 << 63) - 1, [[1]], [1] * 17, {}])
def test_what_is_no_number_is_refused_with_what_is_allowed(written: object) -> None:
    with pytest.raises(PydanticCustomError, match="at most 64 bits, or a list"):
        NoValue().value_of(written)
