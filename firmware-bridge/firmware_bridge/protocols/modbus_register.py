"""One quantity of a Modbus device: where it is, and what its number means."""

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from firmware_bridge.protocols.declared_field import Unit, bytes_of_form
from gateway.keys.names import Name
from gateway.keys.quantities import Number, Whole, refusal
from gateway.keys.section import Section

REGISTER_MAX = 65535


@dataclass(frozen=True, kw_only=True)
class Register(Section):
    """One quantity of a device."""

    descriptions: ClassVar = {
        "name": "The quantity.",
        "at": "The first register, counted from 0.",
        "kind": "The table in which it is.",
        "type": "Form of the number: unsigned, signed or floating point, and its bits.",
        "scale": "What the number is multiplied by.",
        "offset": "What is added after that.",
        "unit": "The quantity's unit, as SenML has it.",
    }

    name: Name
    at: Annotated[int, Whole(0, REGISTER_MAX)]
    kind: Literal["holding", "input", "coil", "discrete"] = "holding"
    type: Literal["u16", "i16", "u32", "i32", "u64", "i64", "f32", "f64"] = "u16"
    scale: Annotated[float, Number()] = 1
    offset: Annotated[float, Number()] = 0
    unit: Unit | None = None

    @property
    def is_bit(self) -> bool:
        """Whether it is a truth value."""
        return self.kind in ("coil", "discrete")

    @property
    def end(self) -> int:
        """The register behind it."""
        return self.at + (1 if self.is_bit else bytes_of_form(self.type) // 2)

    def check(self) -> None:
        """Refuse a number that reaches behind the last register, and what has no meaning."""
        if self.end > REGISTER_MAX + 1:
            raise refusal(f"a register of at most {REGISTER_MAX + 1 - (self.end - self.at)}")
        if self.is_bit and {"type", "scale", "offset", "unit"} & self.given:
            raise refusal(f'no type, scale, offset or unit with kind = "{self.kind}": it is a bit')
