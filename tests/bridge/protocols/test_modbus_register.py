"""Registers of a Modbus quantity and the number encoded in them."""

import math
import struct
from typing import Any

import pytest
from firmware_bridge.protocols.modbus_register import Register, SkippedRegister
from firmware_bridge.protocols.no_value import NoValue
from pydantic_core import PydanticCustomError


@pytest.mark.parametrize(
    ("register", "end"),
    [
        (Register(name="a", at=10), 11),
        (Register(name="a", at=10, type="f32"), 12),
        (Register(name="a", at=10, type="u64"), 14),
        (Register(name="a", at=10, kind="coil"), 11),
    ],
)
def test_a_number_takes_as_many_registers_as_it_has_words(register: Register, end: int) -> None:
    register.check()
    assert register.end == end


@pytest.mark.parametrize(
    ("register", "fix"),
    [
        (Register(name="a", at=65535, type="u32"), "a register of at most 65534"),
        (
            Register(name="a", at=1, kind="coil", scale=2, given=frozenset({"scale"})),
            "it is a bit",
        ),
    ],
)
def test_what_no_device_has_is_refused(register: Register, fix: str) -> None:
    with pytest.raises(PydanticCustomError, match=fix):
        register.check()


def read(number: bytes, **keys: Any) -> float | str:
    """Return the value of a register with these bytes, or the reason why it has none."""
    register = Register(name="a", at=0, **keys)
    register.check()
    try:
        return register.read(number)
    except SkippedRegister as missing:
        return missing.reason


@pytest.mark.parametrize(
    ("order", "data"),
    [
        (("big", "big"), b"\x12\x34\x56\x78"),
        (("little", "big"), b"\x56\x78\x12\x34"),
        (("big", "little"), b"\x34\x12\x78\x56"),
        (("little", "little"), b"\x78\x56\x34\x12"),
    ],
)
def test_words_and_bytes_may_be_in_either_order(order: tuple[Any, Any], data: bytes) -> None:
    words, octets = order
    assert read(data, type="u32", word_order=words, byte_order=octets) == 0x12345678
    wide = data[2:] + data[:2] if words == "little" else data
    assert read(wide[:2], word_order=words, byte_order=octets) == 0x1234


def test_a_number_of_64_bits_in_the_other_order_is_reversed_by_words() -> None:
    data = b"\x07\x08\x05\x06\x03\x04\x01\x02"
    assert read(data, type="u64", word_order="little") == 0x0102030405060708
    pi = struct.pack(">d", 3.14159)
    assert read(pi, type="f64") == 3.14159
    assert read(pi[::-1], type="f64", word_order="little", byte_order="little") == 3.14159


@pytest.mark.parametrize(
    ("form", "raw", "no_value"),
    [
        ("u16", "FFFF", 0xFFFF),
        ("i16", "7FFF", 0x7FFF),
        ("i16", "8000", 0x8000),
        ("i16", "8000", -32768),
        ("i16", "FFFF", 0xFFFF),
        ("i16", "FFFF", "0xffff"),
        ("i32", "80000000", 0x80000000),
        ("u32", "FFFFFFFF", 0xFFFFFFFF),
        ("u32", "80000000", 0x80000000),
        ("u32", "0000FFFF", 0xFFFF),
        ("i64", "8000000000000000", 0x8000000000000000),
        ("u64", "FFFFFFFFFFFFFFFF", 0xFFFFFFFFFFFFFFFF),
        ("f32", "C61C3C00", -9999.0),
        ("f32", "C61C3C00", -9999),
        ("f32", "FF7FFFFF", -3.4028235e38),
        ("f32", "7F7FFFFF", 0x7F7FFFFF),
        ("f64", "C0C3878000000000", -9999.0),
        ("u16", "7FFF", [0, 0x7FFF]),
    ],
)
def test_a_number_that_means_no_value_is_none_and_its_neighbour_is_one(
    form: Any, raw: str, no_value: object
) -> None:
    numbers = NoValue().value_of(no_value)
    data = bytes.fromhex(raw)
    assert read(data, type=form, no_value=numbers, scale=0.5, offset=7) == "no_value"
    neighbour = data[:-1] + bytes((data[-1] ^ 1,))
    assert read(neighbour, type=form, no_value=numbers) not in {"no_value", "not_measured"}


@pytest.mark.parametrize(
    ("form", "raw", "keys", "reason"),
    [
        ("f32", "7FC00000", {}, "not_measured"),
        ("f32", "FFC00000", {"no_value": (math.nan,)}, "not_measured"),
        ("f64", "7FF8000000000000", {}, "not_measured"),
        ("f32", "7F800000", {}, "not_measured"),
        ("u64", "FFFFFFFFFFFFFFFF", {}, "value"),
        ("u64", "7FFFFFFFFFFFFFFF", {"scale": 10}, "value"),
    ],
)
def test_what_is_no_reading_has_a_reason(
    form: Any, raw: str, keys: dict[str, Any], reason: str
) -> None:
    assert read(bytes.fromhex(raw), type=form, **keys) == reason


def test_a_number_is_scaled_by_a_power_of_ten_in_a_register_after_it() -> None:
    power = Register(name="power", at=10, type="i16", scale_at=12, no_value=(0x8000,))
    assert (power.end, power.place) == (13, "holding 10 to 12")
    assert power.read(bytes.fromhex("11d7 0000 ffff")) == 456.7
    assert power.read(bytes.fromhex("11d7 0000 0001")) == 45670
    for words in ("8000 0000 ffff", "11d7 0000 8000"):
        with pytest.raises(SkippedRegister, match="no_value"):
            power.read(bytes.fromhex(words))
    for scale_at in (10, 111, 200):
        with pytest.raises(PydanticCustomError, match="scale_at at most 100 registers before or"):
            Register(name="a", at=10, scale_at=scale_at).check()


def test_the_power_of_ten_may_be_in_a_register_before_the_number() -> None:
    """In SunSpec model 160, which has the values of each string, the powers of ten come first."""
    power = Register(name="power", at=12, type="u32", scale_at=10, no_value=(0xFFFFFFFF,))
    power.check()
    assert (power.first, power.end, power.place) == (10, 14, "holding 10 to 13")
    assert power.read(bytes.fromhex("ffff 0000 0001 11d7")) == 7010.3
    for words in ("ffff 0000 ffff ffff", "8000 0000 0001 11d7"):
        with pytest.raises(SkippedRegister, match="no_value"):
            power.read(bytes.fromhex(words))
    with pytest.raises(PydanticCustomError, match="scale_at at most 100 registers before or"):
        Register(name="a", at=110, scale_at=9).check()
