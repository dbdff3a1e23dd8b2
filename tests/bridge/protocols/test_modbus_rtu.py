"""Messages of a Modbus line: noise, echo, CRC."""

import struct

import pytest
from firmware_bridge.protocols.checksums import crc16_modbus
from firmware_bridge.protocols.frame import Damage
from firmware_bridge.protocols.modbus_answer import Block
from firmware_bridge.protocols.modbus_register import Register
from firmware_bridge.protocols.modbus_rtu import Rtu
from hypothesis import given
from hypothesis import strategies as st

BLOCK = Block("tank", 7, [Register(name="level", at=10), Register(name="flow", at=11, type="f32")])


def closed(*content: int) -> bytes:
    data = bytes(content)
    return data + crc16_modbus(data).to_bytes(2, "little")


GOOD = closed(7, 3, 6, *struct.pack(">hf", -25, 0.1))


def rtu_asked(*, echo: bool = False) -> Rtu:
    rtu = Rtu(echo=echo)
    assert rtu.message_of(BLOCK) == closed(7, 3, 0, 10, 0, 3)
    return rtu


@pytest.mark.parametrize("noise", [b"", b"\x00", b"\xff\x07\x03"])
def test_an_answer_is_read_after_noise_of_the_turnaround(noise: bytes) -> None:
    rtu = rtu_asked()
    for length in range(1, len(noise + GOOD)):
        assert rtu.read((noise + GOOD)[:length], BLOCK) is None
    assert rtu.read(noise + GOOD, BLOCK) == GOOD[1:-2]
    assert rtu.read(noise + closed(7, 0x83, 2), BLOCK) == b"\x83\x02"
    assert rtu.answer_bytes_of(BLOCK) == len(GOOD)


def test_an_echo_is_no_answer() -> None:
    rtu = rtu_asked(echo=True)
    echo = closed(7, 3, 0, 10, 0, 3)
    for length in range(1, len(echo + GOOD)):
        assert rtu.read((echo + GOOD)[:length], BLOCK) is None
    assert rtu.read(echo + GOOD, BLOCK) == GOOD[1:-2]
    assert rtu.timed_out(echo, BLOCK) == Damage("no_answer")
    assert rtu.answer_bytes_of(BLOCK) == len(echo + GOOD)


@pytest.mark.parametrize("noise", [b"\x00", b"\xff\x07\x03", bytes(8)])
def test_an_echo_after_noise_of_the_turnaround_is_no_answer(noise: bytes) -> None:
    rtu = rtu_asked(echo=True)
    received = noise + closed(7, 3, 0, 10, 0, 3) + GOOD
    for length in range(1, len(received)):
        assert rtu.read(received[:length], BLOCK) is None
    assert rtu.read(received, BLOCK) == GOOD[1:-2]
    assert rtu.timed_out(noise + closed(7, 3, 0, 10, 0, 3), BLOCK) == Damage("no_answer")


@pytest.mark.parametrize("at", [0x0000, 0x0200, 0x0400])
def test_an_echo_is_passed_over_where_it_begins_like_an_answer(at: int) -> None:
    """The third byte of a request is a part of the register's number, that of an answer a count."""
    block = Block("tank", 7, [Register(name="level", at=at, type="u32" if at & 0x400 else "u16")])
    rtu = Rtu(echo=False)
    echo = rtu.message_of(block)
    answer = closed(7, 3, block.value_bytes, *bytes(block.value_bytes))
    for length in range(1, len(echo + answer)):
        assert rtu.read((echo + answer)[:length], block) is None
    assert rtu.read(echo + answer, block) == answer[1:-2]
    assert rtu.timed_out(echo, block) == Damage("no_answer")


@pytest.mark.parametrize("noise", [b"", b"\x00", b"\xff\x00"])
@pytest.mark.parametrize("count", [1, 2, 3])
def test_an_echo_that_is_a_whole_answer_by_its_bytes_is_passed_over(
    count: int, noise: bytes
) -> None:
    """The request for register 0x03E8 is also an answer of three bytes with a valid CRC."""
    registers = [Register(name=f"r{each}", at=0x03E8 + each) for each in range(count)]
    block = Block("tank", 7, registers)
    rtu = Rtu(echo=False)
    echo = noise + rtu.message_of(block)
    answer = closed(7, 3, block.value_bytes, *bytes(block.value_bytes))
    for length in range(1, len(echo + answer)):
        assert rtu.read((echo + answer)[:length], block) is None
    assert rtu.read(echo + answer, block) == answer[1:-2]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (GOOD[:-1] + b"\x00", "checksum"),
        (closed(8, 3, 6, *bytes(6)), "address"),
        (closed(7, 4, 6, *bytes(6)), "address"),
        (closed(7, 3, 8, *bytes(8)), "address"),
        (closed(8, 3, 4, *bytes(4)), "address"),
        (closed(8, 0x83, 2), "address"),
    ],
)
def test_any_other_answer_is_damage_with_a_reason(answer: bytes, reason: str) -> None:
    assert rtu_asked().read(answer, BLOCK) == Damage(reason)


@pytest.mark.parametrize("count", [0, 2, 4])
def test_an_answer_with_fewer_registers_is_passed_on_once_it_is_complete(count: int) -> None:
    answer = closed(7, 3, count, *bytes(count))
    for noise in (b"", b"\x00", b"\xff\x07\x03"):
        received = noise + answer
        for length in range(1, len(received)):
            assert rtu_asked().read(received[:length], BLOCK) is None
        assert rtu_asked().read(received, BLOCK) == answer[1:-2]


@pytest.mark.parametrize(
    ("answer", "reason"), [(b"", "no_answer"), (GOOD[:5], "truncated"), (b"\x55" * 4, "noise")]
)
def test_a_silence_is_judged_by_what_came(answer: bytes, reason: str) -> None:
    assert rtu_asked().timed_out(answer, BLOCK) == Damage(reason)


@given(st.binary(max_size=40), st.booleans())
def test_no_bytes_raise(answer: bytes, echo: bool) -> None:
    rtu = rtu_asked(echo=echo)
    rtu.read(answer, BLOCK)
    rtu.timed_out(answer, BLOCK)
