"""Fields with a declared numeric format."""

from collections import Counter

import pytest
from firmware_bridge.protocols.declared_field import FrameField, read_number, values_of
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.readings.measurement import Measurement


@pytest.mark.parametrize(
    ("data", "form", "order", "value"),
    [
        ("ff", "u8", "big", 255),
        ("ff", "i8", "big", -1),
        ("0102", "u16", "big", 258),
        ("0102", "u16", "little", 513),
        ("010203", "u24", "big", 66051),
        ("fffffffe", "i32", "big", -2),
        ("3dcccccd", "f32", "big", 0.1),
        ("42f6e979", "f32", "big", 123.456),
        ("cdcccc3d", "f32", "little", 0.1),
        ("3ff199999999999a", "f64", "big", 1.1),
    ],
)
def test_a_number_is_read(data: str, form: str, order: str, value: float) -> None:
    assert read_number(bytes.fromhex(data), form, order) == value  # type: ignore[arg-type]


@pytest.mark.parametrize(("data", "form"), [("7fc00000", "f32"), ("f" * 16, "u64")])
def test_what_is_no_reading_is_refused(data: str, form: str) -> None:
    with pytest.raises(Damaged, match="value"):
        read_number(bytes.fromhex(data), form, "big")


def test_fields_are_scaled_and_have_their_units() -> None:
    field = FrameField(name="t", at=1, type="i16", scale=0.1, offset=-40, unit="Cel")
    assert values_of([field], bytes.fromhex("0002670000"), "big", Counter()) == {
        "t": [Measurement("t", 21.5, "Cel")]
    }
