"""Settings of one quantity of a Modbus device: its registers and their number format."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from firmware_bridge.protocols.declared_field import ByteOrder, Unit, bytes_of_form, read_number
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.no_value import (
    NoValue,
    NoValues,
    why_no_value,
)
from firmware_bridge.readings.scaling import scaled
from gateway.process.declarations.names import Name
from gateway.process.declarations.quantities import Factor, Number, Whole, refusal
from gateway.process.declarations.section import Section

REGISTER_MAX = 65535
SCALE_DISTANCE_MAX = 100
"""Maximum number of registers from a number to its power of ten. Both must fit in one response."""
POWER_OF_TEN_MAX = 10
"""Largest exponent that SunSpec allows. The smallest is its negative."""


class SkippedRegister(ValueError):
    """Error raised if the registers of a quantity currently contain no valid reading.

    `reason` is `no_value`, `not_measured` or `value`.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, kw_only=True)
class Register(Section):
    """Settings of one quantity of a Modbus device."""

    descriptions: ClassVar = {
        "name": "Name of the quantity.",
        "at": "Address of the first register, counted from 0.",
        "kind": "Table that contains the register.",
        "type": "Format of the number: unsigned, signed or floating point, and its number of bits.",
        "word_order": "Order of the registers in the number. Default: the device's.",
        "byte_order": "Order of the two bytes in a register. Default: the device's.",
        "no_value": 'Numbers that mean "no value". Default: the device\'s.',
        "scale": "Factor by which the number is multiplied.",
        "scale_at": "Register with a power of ten by which the number is also multiplied.",
        "offset": "Value that is added after scaling.",
        "unit": "SenML unit of the quantity.",
    }

    name: Name
    at: Annotated[int, Whole(0, REGISTER_MAX)]
    kind: Literal["holding", "input", "coil", "discrete"] = "holding"
    type: Literal["u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"] = "u16"
    word_order: ByteOrder | None = None
    byte_order: ByteOrder | None = None
    no_value: Annotated[NoValues | None, NoValue()] = None
    scale: Annotated[float, Factor()] = 1
    scale_at: Annotated[int, Whole(0, REGISTER_MAX)] | None = None
    offset: Annotated[float, Number()] = 0
    unit: Unit | None = None

    @property
    def is_bit(self) -> bool:
        """True if the quantity is a single bit."""
        return self.kind in ("coil", "discrete")

    @property
    def first(self) -> int:
        """The address of the first register that belongs to the quantity or to its power of ten."""
        return self.at if self.scale_at is None else min(self.at, self.scale_at)

    @property
    def end(self) -> int:
        """The address of the first register that follows both the quantity and its power of ten."""
        end = self.at + (1 if self.is_bit else bytes_of_form(self.type) // 2)
        return end if self.scale_at is None else max(end, self.scale_at + 1)

    @property
    def place(self) -> str:
        """Description of the quantity's location: table and registers, such as `holding 7 to 9`."""
        return f"{self.kind} {span_of(self.first, self.end - self.first)}"

    def check(self) -> None:
        """Check that the quantity can be read in one request, and that its settings fit its type.

        The value must not extend past the last register. The register with its power of ten must
        be at most `SCALE_DISTANCE_MAX` registers away. A bit must not have settings for numbers,
        such as a unit.
        """
        if self.end > REGISTER_MAX + 1:
            raise refusal(f"a register of at most {REGISTER_MAX + 1 - (self.end - self.at)}")
        distance = 1 if self.scale_at is None else abs(self.scale_at - self.at)
        if not 0 < distance <= SCALE_DISTANCE_MAX:
            raise refusal(
                f"a scale_at at most {SCALE_DISTANCE_MAX} registers before or after at: both must "
                "be in one answer"
            )
        of_numbers = {
            "scale_at",
            "type",
            "word_order",
            "byte_order",
            "no_value",
            "scale",
            "offset",
            "unit",
        }
        if self.is_bit and of_numbers & self.given:
            raise refusal(
                "no type, word_order, byte_order, no_value, scale, scale_at, offset or unit with "
                f'kind = "{self.kind}": it is a bit'
            )

    def read(self, data: bytes) -> float:
        """Decode the quantity's number. `data` contains the bytes of its registers as received.

        If the quantity has a power of ten, `data` also contains this register, and all registers
        between it and the number.

        Raises:
            SkippedRegister: if the registers have no valid reading.
        """
        scale = self.scale
        if self.scale_at is not None:
            scale = scaled(scale, power_of_ten=self._power_of_ten(data))
            at = 2 * (self.at - self.first)
            data = data[at : at + bytes_of_form(self.type)]
        if self.byte_order == "little":
            data = b"".join(data[at : at + 2][::-1] for at in range(0, len(data), 2))
        if self.word_order == "little":
            data = b"".join(data[at : at + 2] for at in range(len(data) - 2, -1, -2))
        reason = why_no_value(data, self.type, self.no_value)
        if reason is not None:
            raise SkippedRegister(reason)
        try:
            return read_number(data, self.type, "big", scale, self.offset)
        except Damaged as damage:
            raise SkippedRegister(damage.reason) from None

    def _power_of_ten(self, data: bytes) -> int:
        """Decode the power of ten of the number.

        In SunSpec, the code 0x8000 means that there is no value.

        Raises:
            SkippedRegister: if the power of ten is missing or out of range.
        """
        assert self.scale_at is not None, "the caller has looked"
        at = 2 * (self.scale_at - self.first)
        power = int.from_bytes(data[at : at + 2], self.byte_order or "big", signed=True)
        if abs(power) > POWER_OF_TEN_MAX:
            raise SkippedRegister("no_value")
        return power


def span_of(first: int, count: int) -> str:
    """Return a range of registers as text: `7` for one register, `7 to 9` for three."""
    return str(first) if count == 1 else f"{first} to {first + count - 1}"
