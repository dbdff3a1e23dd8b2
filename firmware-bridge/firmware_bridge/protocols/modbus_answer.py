"""Requests for registers of a Modbus device, and the responses::

    function u8 | first register u16 | count u16         request
    function u8 | bytes u8 | values ...                  response with values
    function u8 + 0x80 | exception u8                    response with an exception

Source: Modbus application protocol 1.1b3. `modbus_rtu.py` adds the framing for serial lines, and
`modbus_tcp.py` the framing for networks.
"""

import struct
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from firmware_bridge.protocols.frame import Damage, Frame, Refused
from firmware_bridge.protocols.modbus_device import REGISTERS_PER_REQUEST_MAX
from firmware_bridge.protocols.modbus_register import Register, SkippedRegister, span_of
from firmware_bridge.readings.measurement import MEASUREMENTS_MAX, Measurement, Quantities

READ_FUNCTIONS: Final = {"coil": 1, "discrete": 2, "holding": 3, "input": 4}
EXCEPTION: Final = 0x80
_BITS_MAX = 2000
_EXCEPTION_BYTES = 2
_HEAD_BYTES = 2

SHORT: Final = "short_answer"
"""Reason of a refusal: the response is valid, but has fewer registers than were requested."""

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
    """Consecutive registers of one Modbus table, such as holding registers, read in one request."""

    device: str
    address: int
    registers: Sequence[Register]

    @property
    def first(self) -> int:
        """The address of the first register."""
        return self.registers[0].first

    @property
    def count(self) -> int:
        """Number of registers or bits to request."""
        return max(each.end for each in self.registers) - self.first

    @property
    def is_bits(self) -> bool:
        """True for coils and discrete inputs, which contain bits."""
        return self.registers[0].is_bit

    @property
    def function(self) -> int:
        """The function code of the request."""
        return READ_FUNCTIONS[self.registers[0].kind]

    @property
    def place(self) -> str:
        """Description of the block for messages: its table and registers.

        If the block has only one quantity, the description includes the quantity's name.
        """
        span = f"{self.registers[0].kind} {span_of(self.first, self.count)}"
        return f"{span} ({self.registers[0].name})" if len(self.registers) == 1 else span

    @property
    def text(self) -> str:
        """Readable description of the request: device, table and registers."""
        return f"{self.device}: {self.registers[0].kind} {span_of(self.first, self.count)}"

    @property
    def value_bytes(self) -> int:
        """Number of bytes that the values take in a response."""
        return (self.count + 7) // 8 if self.is_bits else 2 * self.count

    @property
    def request(self) -> bytes:
        """The bytes of the request, without RTU or TCP framing."""
        return struct.pack(">BHH", self.function, self.first, self.count)

    @property
    def answer_bytes(self) -> int:
        """Number of bytes in a response with values, without RTU or TCP framing."""
        return _HEAD_BYTES + self.value_bytes

    def halves(self) -> tuple["Block", "Block"]:
        """Split the block into two blocks of about the same size. A quantity is never split."""
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
    """Divide the registers of a device into blocks. Each block is read with one request.

    Args:
        registers: the registers, in any order.
        registers_max: maximum registers per block. A quantity with more registers gets its own
            block.
        cuts: the registers at which a new block must begin, each as (table, register).
    """
    blocks: list[list[Register]] = []
    for each in sorted(registers, key=lambda each: (each.kind, each.first, each.at)):
        last = blocks[-1] if blocks else None
        most = _BITS_MAX if each.is_bit else registers_max
        if (
            last is not None
            and last[0].kind == each.kind
            and each.first <= max(other.end for other in last)
            and each.end - last[0].first <= most
            and len(last) < MEASUREMENTS_MAX
            and (each.kind, each.first) not in cuts
        ):
            last.append(each)
        else:
            blocks.append([each])
    return blocks


def read_answer(answer: bytes, block: Block) -> Frame | Damage | Refused:
    """Decode a complete response to the request for `block`. Return the outcome of the request.

    `answer` is the response without its RTU or TCP framing.
    """
    if len(answer) == _EXCEPTION_BYTES and answer[0] == block.function | EXCEPTION:
        return Refused(exception_of(answer[1]))
    if is_short(answer, block):
        return Refused(SHORT)
    if answer[:1] != bytes((block.function,)):
        return Damage("address")
    if len(answer) != block.answer_bytes or answer[1] != block.value_bytes:
        return Damage("length")
    quantities, skipped = quantities_of(answer[_HEAD_BYTES:], block.registers, block.first)
    return Frame(quantities, device=block.device, skipped=skipped)


def is_short(answer: bytes, block: Block) -> bool:
    """Return True if a complete response contains fewer registers than were requested.

    If too many registers are requested, some devices send such a response instead of an exception.
    """
    return (
        len(answer) >= _HEAD_BYTES
        and answer[0] == block.function
        and answer[1] == len(answer) - _HEAD_BYTES < block.value_bytes
    )


def exception_of(code: int) -> str:
    """Return the name that the counters use for this exception code, such as `exception_2`."""
    return f"exception_{code}" if code in EXCEPTION_TEXTS else "exception"


def refusal_text(reason: str) -> str:
    """Return a readable description of a refusal, such as `exception 2, illegal data address`."""
    if reason == SHORT:
        return "it answers with fewer registers than asked for"
    code = reason.removeprefix("exception").removeprefix("_")
    return f"exception {code}, {EXCEPTION_TEXTS[int(code)]}" if code else "an unknown exception"


def quantities_of(
    values: bytes, registers: Sequence[Register], first: int
) -> tuple[Quantities, dict[str, str]]:
    """Decode quantities from the values of a response.

    `first` is the address of the register that contains the first value.

    Returns:
        The quantities that have a value, and the reason for each quantity that has none.
    """
    quantities: Quantities = {}
    skipped: dict[str, str] = {}
    for each in registers:
        try:
            value = _value_of(each, values, each.first - first)
        except SkippedRegister as missing:
            skipped[each.name] = missing.reason
        else:
            unit = None if each.is_bit else each.unit
            quantities[each.name] = [Measurement(each.name, value, unit)]
    return quantities, skipped


def _value_of(register: Register, values: bytes, at: int) -> float | bool:
    if register.is_bit:
        return bool(values[at // 8] >> at % 8 & 1)
    return register.read(values[2 * at : 2 * (at + register.end - register.first)])
