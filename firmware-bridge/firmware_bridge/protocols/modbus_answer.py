"""Requests for registers of one Modbus device, and its answers (Modbus application protocol 1.1b3).

On RS-485 the change of who drives the line may put a few bytes of noise before an answer: it is
looked for behind them. What is taken has the address, the function, the length and the CRC.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from firmware_bridge.protocols.checksums import crc16_modbus
from firmware_bridge.protocols.declared_field import ByteOrder, read_number
from firmware_bridge.protocols.frame import Damage, Damaged, Frame
from firmware_bridge.protocols.modbus_register import Register
from firmware_bridge.readings.measurement import MEASUREMENTS_MAX, Measurement, Quantities

NOISE_BYTES_MAX = 8

READ_FUNCTIONS: Final = {"coil": 1, "discrete": 2, "holding": 3, "input": 4}
_REGISTERS_MAX = 125
_BITS_MAX = 2000
_EXCEPTION = 0x80
_EXCEPTION_BYTES = 5
_EXCEPTIONS_KNOWN = range(1, 12)
_HEAD_BYTES = 3
_CRC_BYTES = 2


@dataclass(frozen=True, slots=True)
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
        """How many registers or bits are asked for."""
        return max(each.end for each in self.registers) - self.first

    @property
    def function(self) -> int:
        """The function code."""
        return READ_FUNCTIONS[self.registers[0].kind]

    @property
    def text(self) -> str:
        """What is asked for, for people."""
        return f"{self.device}: {self.registers[0].kind} {span_of(self.first, self.count)}"

    @property
    def value_bytes(self) -> int:
        """The bytes of the values in an answer."""
        return (self.count + 7) // 8 if self.registers[0].is_bit else 2 * self.count


def span_of(first: int, count: int) -> str:
    """Return `7`, or `7 to 9`."""
    return str(first) if count == 1 else f"{first} to {first + count - 1}"


def blocks_of(registers: Sequence[Register]) -> list[list[Register]]:
    """Divide a device's registers into what one request each asks for."""
    blocks: list[list[Register]] = []
    for each in sorted(registers, key=lambda each: (each.kind, each.at)):
        last = blocks[-1] if blocks else None
        most = _BITS_MAX if each.is_bit else _REGISTERS_MAX
        if (
            last is not None
            and last[0].kind == each.kind
            and each.at <= max(other.end for other in last)
            and each.end - last[0].at <= most
            and len(last) < MEASUREMENTS_MAX
        ):
            last.append(each)
        else:
            blocks.append([each])
    return blocks


def request_of(block: Block) -> bytes:
    """Return the request, with its CRC."""
    content = struct.pack(">BBHH", block.address, block.function, block.first, block.count)
    return content + crc16_modbus(content).to_bytes(_CRC_BYTES, "little")


def answer_bytes_of(block: Block) -> int:
    """Return how many bytes a whole answer has."""
    return _HEAD_BYTES + block.value_bytes + _CRC_BYTES


def read_answer(answer: bytes, block: Block, word_order: ByteOrder) -> Frame | Damage | None:
    """Decode the bytes received so far; None: more has to come."""
    whole, head = answer_bytes_of(block), bytes((block.address, block.function, block.value_bytes))
    refused = bytes((block.address, block.function | _EXCEPTION))
    for skipped in range(min(NOISE_BYTES_MAX, len(answer)) + 1):
        candidate = answer[skipped:]
        if candidate.startswith(head) and has_crc(candidate[:whole], whole):
            return _frame_of(candidate[_HEAD_BYTES : whole - _CRC_BYTES], block, word_order)
        if candidate.startswith(refused) and has_crc(candidate[:_EXCEPTION_BYTES], 5):
            return Damage(exception_of(candidate[2]))
    if answer.startswith(head) and len(answer) >= whole:
        return Damage("checksum")
    return Damage("address") if _is_of_another(answer, block) else None


def timed_out(answer: bytes, block: Block) -> Damage:
    """Judge an answer that is not whole when its time is over."""
    if not answer:
        return Damage("no_answer")
    return Damage("truncated" if answer[0] == block.address else "noise")


def has_crc(data: bytes, length: int) -> bool:
    """Return whether it has this length, and a right CRC at its end."""
    if len(data) != length:
        return False
    found = int.from_bytes(data[-_CRC_BYTES:], "little")
    return found == crc16_modbus(data[:-_CRC_BYTES])


def _is_of_another(answer: bytes, block: Block) -> bool:
    """Return whether it is whole and sound, from another address or to another request."""
    if len(answer) < _EXCEPTION_BYTES:
        return False
    is_refusal = bool(answer[1] & _EXCEPTION)
    length = _EXCEPTION_BYTES if is_refusal else _HEAD_BYTES + answer[2] + _CRC_BYTES
    return len(answer) >= length and has_crc(answer[:length], length)


def exception_of(code: int) -> str:
    """Return the word for a refusal."""
    return f"exception_{code}" if code in _EXCEPTIONS_KNOWN else "exception"


def _frame_of(values: bytes, block: Block, word_order: ByteOrder) -> Frame | Damage:
    try:
        quantities = quantities_of(values, block.registers, block.first, word_order)
    except Damaged as damage:
        return Damage(damage.reason)
    return Frame(quantities, device=block.device)


def quantities_of(
    values: bytes, registers: Sequence[Register], first: int, word_order: ByteOrder
) -> Quantities:
    """Read registers out of the values of an answer that begins with register `first`.

    Raises:
        Damaged: "value" for a number that is no reading.
    """
    quantities: Quantities = {}
    for each in registers:
        value = _value_of(each, values, each.at - first, word_order)
        quantities[each.name] = [Measurement(each.name, value, None if each.is_bit else each.unit)]
    return quantities


def _value_of(asked: Register, values: bytes, at: int, word_order: ByteOrder) -> float | bool:
    if asked.is_bit:
        return bool(values[at // 8] >> at % 8 & 1)
    count = asked.end - asked.at
    data = values[2 * at : 2 * (at + count)]
    if word_order == "little":
        data = b"".join(data[2 * each : 2 * each + 2] for each in reversed(range(count)))
    return read_number(data, asked.type, "big", asked.scale, asked.offset)
