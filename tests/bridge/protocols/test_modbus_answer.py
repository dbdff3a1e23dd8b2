"""Answers of Modbus devices, sound and not."""

import struct

import pytest
from firmware_bridge.protocols.checksums import crc16_modbus
from firmware_bridge.protocols.frame import Damage, Frame
from firmware_bridge.protocols.modbus_answer import (
    Block,
    answer_bytes_of,
    blocks_of,
    read_answer,
    request_of,
    timed_out,
)
from firmware_bridge.protocols.modbus_register import Register
from hypothesis import given
from hypothesis import strategies as st

LEVEL = Register(name="level", at=10, type="i16", scale=0.1, unit="m")
FLOW = Register(name="flow", at=11, type="f32", unit="m3")
BLOCK = Block("tank", 7, [LEVEL, FLOW])


def closed(*content: int) -> bytes:
    data = bytes(content)
    return data + crc16_modbus(data).to_bytes(2, "little")


GOOD = closed(7, 3, 6, *struct.pack(">hf", -25, 0.1))
EXPECTED = {"level": (-2.5, "m"), "flow": (0.1, "m3")}


def values(frame: object) -> dict[str, tuple[object, str | None]]:
    assert isinstance(frame, Frame)
    assert frame.device == "tank"
    return {name: (each.value, each.unit) for name, (each,) in frame.quantities.items()}


def test_a_request_is_the_standard_s() -> None:
    assert request_of(BLOCK) == closed(7, 3, 0, 10, 0, 3)
    assert answer_bytes_of(BLOCK) == len(GOOD)


@pytest.mark.parametrize("noise", [b"", b"\x00", b"\xff\x07\x03"])
def test_an_answer_is_read_behind_noise_of_the_turnaround(noise: bytes) -> None:
    for length in range(1, len(noise + GOOD)):
        assert read_answer((noise + GOOD)[:length], BLOCK, "big") is None
    assert values(read_answer(noise + GOOD, BLOCK, "big")) == EXPECTED


def test_the_words_of_a_number_may_be_in_the_other_order() -> None:
    high, low = struct.pack(">f", 0.1)[:2], struct.pack(">f", 0.1)[2:]
    answer = closed(7, 3, 6, *struct.pack(">h", -25), *low, *high)
    assert values(read_answer(answer, BLOCK, "little")) == EXPECTED


def test_bits_are_truth_values() -> None:
    bits = [Register(name=f"b{at}", at=at, kind="coil") for at in range(9)]
    found = read_answer(closed(7, 1, 2, 0x05, 0x01), Block("tank", 7, bits), "big")
    assert [value for value, _ in values(found).values()] == [True, False, True, *[False] * 5, True]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (GOOD[:-1] + b"\x00", "checksum"),
        (closed(8, 3, 6, *bytes(6)), "address"),
        (closed(7, 4, 6, *bytes(6)), "address"),
        (closed(7, 3, 4, *bytes(4)), "address"),
        (closed(7, 0x83, 2), "exception_2"),
        (closed(7, 0x83, 200), "exception"),
        (closed(7, 3, 6, *struct.pack(">hf", 1, float("nan"))), "value"),
    ],
)
def test_any_other_answer_is_damage_with_a_reason(answer: bytes, reason: str) -> None:
    assert read_answer(answer, BLOCK, "big") == Damage(reason)


@pytest.mark.parametrize(
    ("answer", "reason"), [(b"", "no_answer"), (GOOD[:5], "truncated"), (b"\x55" * 4, "noise")]
)
def test_a_silence_is_judged_by_what_came(answer: bytes, reason: str) -> None:
    assert timed_out(answer, BLOCK) == Damage(reason)


def test_registers_that_follow_each_other_are_asked_for_together() -> None:
    others = [
        Register(name="a", at=13),
        Register(name="b", at=20),
        Register(name="c", at=11, kind="input"),
    ]
    found = [[each.name for each in block] for block in blocks_of([FLOW, *others, LEVEL])]
    assert found == [["level", "flow", "a"], ["b"], ["c"]]


def test_no_request_asks_for_more_than_an_answer_can_hold() -> None:
    many = [Register(name=f"r{at}", at=4 * at, type="u64") for at in range(100)]
    blocks = [Block("tank", 1, registers) for registers in blocks_of(many)]
    assert sum(len(block.registers) for block in blocks) == 100
    assert max(block.count for block in blocks) <= 125


@given(st.binary(max_size=40))
def test_no_bytes_raise(answer: bytes) -> None:
    read_answer(answer, BLOCK, "big")
    read_answer(closed(7, 3, 6, *answer[:6].ljust(6, b"\0")), BLOCK, "little")
    timed_out(answer, BLOCK)
