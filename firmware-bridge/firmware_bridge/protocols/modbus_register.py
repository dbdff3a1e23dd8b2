"""One quantity of a Modbus device: its registers, and the number in them."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from firmware_bridge.protocols.declared_field import ByteOrder, Unit, bytes_of_form, read_number
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.modbus_no_value import (
    NoValue,
    NoValues,
    is_infinite_or_nan,
    is_no_value,
)
from gateway.keys.names import Name
from gateway.keys.quantities import Number, Whole, refusal
from gateway.keys.section import Section

REGISTER_MAX = 65535


class LeftOut(ValueError):
    """A register that has no reading now: `reason` is `no_value`, `not_measured` or `value`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, kw_only=True)
class Register(Section):
    """One quantity of a device."""

    descriptions: ClassVar = {
        "name": "The quantity.",
        "at": "The first register, counted from 0.",
        "kind": "The table in which it is.",
        "type": "Form of the number: unsigned, signed or floating point, and its bits.",
        "word_order": "Which of its registers comes first; else the device's.",
        "byte_order": "Which byte of a register comes first; else the device's.",
        "no_value": "Numbers that mean that there is no value; else the device's.",
        "scale": "What the number is multiplied by.",
        "offset": "What is added after that.",
        "unit": "The quantity's unit, as SenML has it.",
    }

    name: Name
    at: Annotated[int, Whole(0, REGISTER_MAX)]
    kind: Literal["holding", "input", "coil", "discrete"] = "holding"
    type: Literal["u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"] = "u16"
    word_order: ByteOrder | None = None
    byte_order: ByteOrder | None = None
    no_value: Annotated[NoValues | None, NoValue()] = None
    scale: Annotated[float, Number()] = 1
    offset: Annotated[float, Number()] = 0
    unit: Unit | None = None

    @property
    def is_bit(self) -> bool:
        """Whether it is a truth value."""
        return self.kind in ("coil", "discrete")

    @property
    def end(self) -> int:
        """The register after it."""
        return self.at + (1 if self.is_bit else bytes_of_form(self.type) // 2)

    @property
    def place(self) -> str:
        """Its table and registers, for people."""
        return f"{self.kind} {span_of(self.at, self.end - self.at)}"

    def check(self) -> None:
        """Refuse a number that reaches past the last register, and keys that a bit cannot have."""
        if self.end > REGISTER_MAX + 1:
            raise refusal(f"a register of at most {REGISTER_MAX + 1 - (self.end - self.at)}")
        of_numbers = {"type", "word_order", "byte_order", "no_value", "scale", "offset", "unit"}
        if self.is_bit and of_numbers & self.given:
            raise refusal(
                "no type, word_order, byte_order, no_value, scale, offset or unit with "
                f'kind = "{self.kind}": it is a bit'
            )

    def read(self, data: bytes) -> float:
        """Return the number in the bytes of its registers, as they were received.

        Raises:
            LeftOut: it is no reading.
        """
        if self.byte_order == "little":
            data = b"".join(data[at : at + 2][::-1] for at in range(0, len(data), 2))
        if self.word_order == "little":
            data = b"".join(data[at : at + 2] for at in range(len(data) - 2, -1, -2))
        if is_no_value(data, self.type, self.no_value or ()):
            raise LeftOut("no_value")
        try:
            return read_number(data, self.type, "big", self.scale, self.offset)
        except Damaged:
            is_number = not is_infinite_or_nan(data, self.type)
            raise LeftOut("value" if is_number else "not_measured") from None


def span_of(first: int, count: int) -> str:
    """Return `7`, or `7 to 9`."""
    return str(first) if count == 1 else f"{first} to {first + count - 1}"
