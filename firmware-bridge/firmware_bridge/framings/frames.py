"""What every framing makes: frames of measurements, and counters of what it could not read."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

Value = float | int | str | bool | bytes

# More would make a frame's payloads larger than a broker's usual packet limit.
MEASUREMENTS_MAX = 64
# Anything larger is no measurement; it also keeps every integer exact in 64 bits.
INTEGER_MAX = 2**63 - 1


class Damaged(ValueError):
    """A frame that cannot be read: `reason` is one short word for the counters."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Measurement:
    """One value as the sensor gave it.

    `time_seconds` is RFC 8428's: below 2**28 it counts from the moment of arrival, otherwise from
    1970-01-01 UTC. None is the moment of arrival.
    """

    name: str
    value: Value
    unit: str | None = None
    time_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class BoardIdentity:
    """How a board names a frame: its number, its count of starts, the frame's number from 1."""

    device: int
    boot: int
    sequence: int


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame: quantity -> its measurements (one payload a quantity); `identity` for boards."""

    quantities: dict[str, list[Measurement]]
    identity: BoardIdentity | None = None


@dataclass
class Tally:
    """What a framing met beside good frames: damage by reason, and bytes that are not for it."""

    damaged: Counter[str] = field(default_factory=Counter)
    foreign: Counter[str] = field(default_factory=Counter)


class Framing(Protocol):
    tally: Tally

    def begin(self, *, mid_line: bool) -> None:
        """The port was (re)opened; `mid_line`: the first bytes may be the rest of a line."""

    def feed(self, data: bytes) -> list[Frame]:
        """The frames that these bytes complete, in order."""

    def flush(self) -> list[Frame]:
        """The line has been silent: frames that can be told without waiting for more bytes."""
