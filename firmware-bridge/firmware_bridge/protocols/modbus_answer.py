"""Requests for registers of a Modbus device, and its answers (Modbus application protocol 1.1b3)::

    function u8 | first register u16 | count u16         the request
    function u8 | bytes u8 | values ...                  the answer
    function u8 + 0x80 | exception u8                    or this

What carries them over a line or a network is in `modbus_rtu.py` and `modbus_tcp.py`.
"""

import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from firmware_bridge.protocols.frame import Damage, Frame, Refused
from firmware_bridge.protocols.modbus_device import REGISTERS_PER_REQUEST_MAX
from firmware_bridge.protocols.modbus_register import LeftOut, Register, span_of
from firmware_bridge.readings.measurement import MEASUREMENTS_MAX, Measurement, Quantities

READ_FUNCTIONS: Final = {"coil": 1, "discrete": 2, "holding": 3, "input": 4}
EXCEPTION: Final = 0x80
_BITS_MAX = 2000
_EXCEPTION_BYTES = 2
_HEAD_BYTES = 2

EXCEPTION_TEXTS: Final = {
    1: "illegal function",
    2: "illegal data address",
    3: "illegal data value",
    4: "device failure",
    5: "acknowledged, not ready",
    6: "device busy",
    7: "negative acknowledge",
    8: "memory parity error",
    9: "exception 9",
    10: "gateway path unavailable",
    11: "gateway target did not answer",
}


@dataclass(frozen=True, slots=True, eq=False)
class Block:
    """Registers of one table without a gap between them, in their order."""

    device: str
    address: int
    registers: Sequence[Register]

    @property
    def first(self) -> int:
        """The first register."""
        return self.registers[0].at

    @property
    def count(self) -> int:
        """Registers or bits that are asked for."""
        return max(each.end for each in self.registers) - self.first

    @property
    def is_bits(self) -> bool:
        """True for coils and discrete inputs, which hold bits."""
        return self.registers[0].is_bit

    @property
    def function(self) -> int:
        """The function code."""
        return READ_FUNCTIONS[self.registers[0].kind]

    @property
    def place(self) -> str:
        """Table and registers, with the quantity where it is one, for people."""
        span = f"{self.registers[0].kind} {span_of(self.first, self.count)}"
        return f"{span} ({self.registers[0].name})" if len(self.registers) == 1 else span

    @property
    def text(self) -> str:
        """The request, for people."""
        return f"{self.device}: {self.registers[0].kind} {span_of(self.first, self.count)}"

    @property
    def value_bytes(self) -> int:
        """The bytes of the values in an answer."""
        return (self.count + 7) // 8 if self.is_bits else 2 * self.count

    @property
    def request(self) -> bytes:
        """The request, as the application protocol has it."""
        return struct.pack(">BHH", self.function, self.first, self.count)

    @property
    def answer_bytes(self) -> int:
        """The bytes of an answer with values."""
        return _HEAD_BYTES + self.value_bytes

    def halves(self) -> tuple["Block", "Block"]:
        """Return two blocks of about one size; no quantity is cut."""
        assert len(self.registers) > 1, "a quantity is not cut"
        middle = self.first + self.count // 2
        at = sum(each.at < middle for each in self.registers)
        at = min(max(at, 1), len(self.registers) - 1)
        return (
            Block(self.device, self.address, self.registers[:at]),
            Block(self.device, self.address, self.registers[at:]),
        )


def blocks_of(
    registers: Sequence[Register],
    registers_max: int = REGISTERS_PER_REQUEST_MAX,
    cuts: Collection[tuple[str, int]] = (),
) -> list[list[Register]]:
    """Divide a device's registers into what one request each asks for.

    Args:
        registers: in any order.
        registers_max: registers of a block, at most, where a quantity does not take more.
        cuts: table and register at which a block must begin.
    """
    blocks: list[list[Register]] = []
    for each in sorted(registers, key=lambda each: (each.kind, each.at)):
        last = blocks[-1] if blocks else None
        most = _BITS_MAX if each.is_bit else registers_max
        if (
            last is not None
            and last[0].kind == each.kind
            and each.at <= max(other.end for other in last)
            and each.end - last[0].at <= most
            and len(last) < MEASUREMENTS_MAX
            and (each.kind, each.at) not in cuts
        ):
            last.append(each)
        else:
            blocks.append([each])
    return blocks


def read_answer(answer: bytes, block: Block) -> Frame | Damage | Refused:
    """Decode a whole answer, without what carried it."""
    if len(answer) == _EXCEPTION_BYTES and answer[0] == block.function | EXCEPTION:
        return Refused(exception_of(answer[1]))
    if answer[:_HEAD_BYTES] != bytes((block.function, block.value_bytes)):
        return Damage("address")
    if len(answer) != block.answer_bytes:
        return Damage("length")
    quantities, left_out = quantities_of(answer[_HEAD_BYTES:], block.registers, block.first)
    return Frame(quantities, device=block.device, left_out=left_out)


def exception_of(code: int) -> str:
    """Return the word for a refusal."""
    return f"exception_{code}" if code in EXCEPTION_TEXTS else "exception"


def refusal_text(reason: str) -> str:
    """Return a refusal for people: `exception 2, illegal data address`."""
    code = reason.removeprefix("exception").removeprefix("_")
    return f"exception {code}, {EXCEPTION_TEXTS[int(code)]}" if code else "an unknown exception"


def quantities_of(
    values: bytes, registers: Sequence[Register], first: int
) -> tuple[Quantities, dict[str, str]]:
    """Read registers out of the values of an answer that begins with register `first`.

    Returns:
        The quantities that have a value, and why the others have none.
    """
    quantities: Quantities = {}
    left_out: dict[str, str] = {}
    for each in registers:
        try:
            value = _value_of(each, values, each.at - first)
        except LeftOut as missing:
            left_out[each.name] = missing.reason
        else:
            unit = None if each.is_bit else each.unit
            quantities[each.name] = [Measurement(each.name, value, unit)]
    return quantities, left_out


def _value_of(asked: Register, values: bytes, at: int) -> float | bool:
    if asked.is_bit:
        return bool(values[at // 8] >> at % 8 & 1)
    return asked.read(values[2 * at : 2 * (at + asked.end - asked.at)])
