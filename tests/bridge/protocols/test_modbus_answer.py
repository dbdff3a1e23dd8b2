"""Responses of Modbus devices: the values of their registers, and messages that are no response."""

import struct

import pytest
from firmware_bridge.protocols.frame import Damage, Frame, Refused
from firmware_bridge.protocols.modbus_answer import (
    Block,
    blocks_of,
    read_answer,
    refusal_text,
)
from firmware_bridge.protocols.modbus_register import Register
from hypothesis import given
from hypothesis import strategies as st

LEVEL = Register(name="level", at=10, type="i16", scale=0.1, unit="m")
FLOW = Register(name="flow", at=11, type="f32", unit="m3")
BLOCK = Block("tank", 7, [LEVEL, FLOW])
GOOD = bytes((3, 6)) + struct.pack(">hf", -25, 0.1)


def values(frame: object) -> dict[str, tuple[object, str | None]]:
    assert isinstance(frame, Frame)
    assert frame.device == "tank"
    return {name: (each.value, each.unit) for name, (each,) in frame.quantities.items()}


def test_a_request_is_the_standard_s() -> None:
    assert BLOCK.request == bytes((3, 0, 10, 0, 3))
    assert BLOCK.answer_bytes == len(GOOD)


def test_an_answer_has_its_registers_with_unit_and_scale() -> None:
    assert values(read_answer(GOOD, BLOCK)) == {"level": (-2.5, "m"), "flow": (0.1, "m3")}


def test_bits_are_truth_values() -> None:
    bits = [Register(name=f"b{at}", at=at, kind="coil") for at in range(9)]
    found = read_answer(bytes((1, 2, 0x05, 0x01)), Block("tank", 7, bits))
    assert [value for value, _ in values(found).values()] == [True, False, True, *[False] * 5, True]


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (bytes((0x83, 2)), Refused("exception_2")),
        (bytes((0x83, 11)), Refused("exception_11")),
        (bytes((0x83, 200)), Refused("exception")),
        (bytes((0x84, 2)), Damage("address")),
        (bytes((4, 6)) + bytes(6), Damage("address")),
        (bytes((3, 4)) + bytes(4), Refused("short_answer")),
        (bytes((3, 0)), Refused("short_answer")),
        (bytes((3, 4)) + bytes(3), Damage("length")),
        (bytes((3, 8)) + bytes(8), Damage("length")),
        (GOOD[:-1], Damage("length")),
        (GOOD + b"\0", Damage("length")),
        (bytes((0x83, 2, 0)), Damage("address")),
        (b"", Damage("address")),
    ],
)
def test_any_other_answer_is_a_refusal_or_damage_with_a_reason(
    answer: bytes, outcome: Refused | Damage
) -> None:
    assert read_answer(answer, BLOCK) == outcome


def test_a_refusal_is_named_as_the_standard_does() -> None:
    assert refusal_text("exception_2") == "exception 2, illegal data address"
    assert refusal_text("exception") == "an unknown exception"
    assert "fewer registers" in refusal_text("short_answer")


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (float("nan"), "not_measured"),
        (float("inf"), "not_measured"),
        (-float("inf"), "not_measured"),
    ],
)
def test_a_number_that_is_no_reading_costs_itself_and_no_other(number: float, reason: str) -> None:
    found = read_answer(bytes((3, 6)) + struct.pack(">hf", -25, number), BLOCK)
    assert values(found) == {"level": (-2.5, "m")}
    assert isinstance(found, Frame)
    assert found.skipped == {"flow": reason}


def test_registers_that_follow_each_other_are_asked_for_together() -> None:
    others = [
        Register(name="a", at=13),
        Register(name="b", at=20),
        Register(name="c", at=11, kind="input"),
    ]
    found = [[each.name for each in block] for block in blocks_of([FLOW, *others, LEVEL])]
    assert found == [["level", "flow", "a"], ["b"], ["c"]]


def test_numbers_with_a_power_of_ten_before_them_are_read_with_it_in_one_request() -> None:
    strings = [Register(name=f"s{at}", at=at, scale_at=257) for at in (294, 274)]
    status = Register(name="status", at=300)
    found = blocks_of([status, *strings])
    assert [[each.name for each in block] for block in found] == [["s274", "s294"], ["status"]]
    block = Block("inverter", 1, found[0])
    assert (block.first, block.count) == (257, 38)
    values = struct.pack(">h37H", -1, *range(258, 295))
    frame = read_answer(bytes((3, len(values))) + values, block)
    assert isinstance(frame, Frame)
    assert {name: each.value for name, (each,) in frame.quantities.items()} == {
        "s274": 27.4,
        "s294": 29.4,
    }


@pytest.mark.parametrize("most", [125, 50, 4, 1])
def test_no_request_asks_for_more_registers_than_a_device_gives(most: int) -> None:
    many = [Register(name=f"r{at}", at=4 * at, type="u64") for at in range(100)]
    blocks = [Block("tank", 1, registers) for registers in blocks_of(many, most)]
    assert sum(len(block.registers) for block in blocks) == 100
    assert max(block.count for block in blocks) <= max(most, 4)


def test_the_halves_of_a_block_cut_no_quantity() -> None:
    registers = [
        Register(name="a", at=0, type="u64"),
        *(Register(name=f"b{n}", at=n) for n in (4, 5)),
    ]
    first, second = Block("tank", 1, registers).halves()
    assert [[each.name for each in half.registers] for half in (first, second)] == [
        ["a"],
        ["b4", "b5"],
    ]
    wide = [Register(name="a", at=0), Register(name="b", at=1, type="u64")]
    assert [each.count for each in Block("tank", 1, wide).halves()] == [1, 4]
    same = [Register(name="a", at=0, type="u32"), Register(name="b", at=0, type="f32")]
    assert [len(each.registers) for each in Block("tank", 1, same).halves()] == [1, 1]


@given(st.binary(max_size=40))
def test_no_bytes_raise(answer: bytes) -> None:
    read_answer(answer, BLOCK)
    read_answer(bytes((3, 6)) + answer[:6].ljust(6, b"\0"), BLOCK)
