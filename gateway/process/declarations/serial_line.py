"""The settings of a serial line, and their usual written form, such as `"9600 7E1"`."""

import re
from dataclasses import dataclass
from typing import Any, Literal, cast

from gateway.process.declarations.quantities import Quantity, refusal

BAUD_RATE_MIN, BAUD_RATE_MAX = 50, 4_000_000
BAUD_RATE_DEFAULT = 115_200

Parity = Literal["N", "E", "O"]
FlowControl = Literal["none", "rts_cts", "xon_xoff"]
"""Flow control: none, with the RTS and CTS wires, or with the bytes XON and XOFF."""
RtsLevel = Literal["high", "low"]
ControlLine = Literal["on", "off", "leave"]
"""State of DTR or RTS while a port is open. `leave` does not change it."""
_LINE = re.compile(r"([1-9][0-9]{1,6}) ([78])([NEO])([12])", re.ASCII)


@dataclass(frozen=True, slots=True)
class Rs485:
    """Settings for an RS-485 driver whose direction is switched with the signal RTS."""

    rts: RtsLevel = "high"
    """The level of RTS while sending. While receiving, RTS has the opposite level."""
    delay_before_send_seconds: float = 0.0
    delay_after_send_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Line:
    """A serial line's baud rate, data bits (7 or 8), parity (N, E or O) and stop bits (1 or 2)."""

    baud_rate: int = BAUD_RATE_DEFAULT
    data_bits: int = 8
    parity: Parity = "N"
    stop_bits: int = 1

    def __str__(self) -> str:
        return f"{self.baud_rate} {self.data_bits}{self.parity}{self.stop_bits}"


@dataclass(frozen=True, slots=True)
class LineText(Quantity):
    """Annotation for the settings of a serial line in text form, such as `"9600 7E1"`."""

    @property
    def allowed(self) -> str:
        return (
            f"a rate from {BAUD_RATE_MIN} to {BAUD_RATE_MAX}, a space, 7 or 8 data bits, parity N, "
            'E or O, and 1 or 2 stop bits, like "9600 7E1" or "115200 8N1"'
        )

    def value_of(self, written: object) -> Line:
        match = _LINE.fullmatch(written) if isinstance(written, str) else None
        if match is None or not BAUD_RATE_MIN <= int(match[1]) <= BAUD_RATE_MAX:
            raise refusal(self.allowed)
        return Line(int(match[1]), int(match[2]), cast("Parity", match[3]), int(match[4]))

    def schema(self) -> dict[str, Any]:
        return {"type": "string", "pattern": f"^{_LINE.pattern}$", "description": self.allowed}
