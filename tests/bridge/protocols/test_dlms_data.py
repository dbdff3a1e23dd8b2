"""Data encoded as in DLMS."""

import pytest
from firmware_bridge.protocols.dlms_data import Data, Enumerated, data_at
from firmware_bridge.protocols.frame import Damaged
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("00", None),
        ("05 fffffffe", -2),
        ("06 00000498", 1176),
        ("10 ffff", -1),
        ("12 091e", 2334),
        ("0f ff", -1),
        ("15 0000000000000001", 1),
        ("16 1b", Enumerated(27)),
        ("03 01", True),
        ("17 41c80000", 25.0),
        ("18 4039000000000000", 25.0),
        ("0a 03 414243", "ABC"),
        ("09 02 0102", b"\x01\x02"),
        ("04 09 ffff", b"\xff\xff"),
        ("02 02 0f00 161b", [0, Enumerated(27)]),
        ("01 00", []),
    ],
)
def test_a_value_has_its_form(data: str, value: Data) -> None:
    raw = bytes.fromhex(data)
    assert data_at(raw, 0) == (value, len(raw))


@pytest.mark.parametrize(
    "data", ["", "06 0000", "ff", "02 05", "01 82ffff", "09 05 01", "02 01" * 9]
)
def test_what_is_none_is_damage(data: str) -> None:
    with pytest.raises(Damaged, match="dlms"):
        data_at(bytes.fromhex(data), 0)


@given(st.binary(max_size=200))
def test_no_bytes_make_it_raise_anything_else(data: bytes) -> None:
    try:
        _, end = data_at(data, 0)
    except Damaged:
        return
    assert end <= len(data)
