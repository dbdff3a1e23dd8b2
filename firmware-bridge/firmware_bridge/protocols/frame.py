"""What every framing makes: frames of measurements, and counters of what it could not read."""

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from typing import Protocol

Value = float | int | str | bool | bytes

# More would make a frame's payloads larger than a broker's usual packet limit.
MEASUREMENTS_MAX = 64
# RFC 8428 section 4.5.3: smaller times count from now, larger ones from 1970.
ABSOLUTE_TIME_SECONDS_MIN = 2**28
# The end of the year 9999: later is no time that a calendar could show.
TIME_SECONDS_MAX = 253_402_300_799
# Anything larger is no measurement; it also keeps every integer exact in 64 bits.
INTEGER_MAX = 2**63 - 1


class Damaged(ValueError):
    """A frame that cannot be read: `reason` is one short word for the counters."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def checked_text(text: str) -> str:
    """The same text. Raises `Damaged`: half a surrogate pair, which JSON can write, has no UTF-8,
    and nothing that reads it later could show or store it."""
    if not text.isascii() and any("\ud800" <= character <= "\udfff" for character in text):
        raise Damaged("text")
    return text


def checked_time(seconds: float) -> float:
    """The same time, as a measurement has it. Raises `Damaged`: an age of more than 8 years (the
    span of RFC 8428's relative times) and a year beyond 9999 are no times."""
    if not -ABSOLUTE_TIME_SECONDS_MIN < seconds <= TIME_SECONDS_MAX:
        raise Damaged("time")
    return seconds


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

    @property
    def absolute_time_seconds(self) -> float | None:
        """When it was measured, where the sensor has a clock; None otherwise."""
        given = self.time_seconds
        return None if given is None or given < ABSOLUTE_TIME_SECONDS_MIN else float(given)


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

    def contents_digest(self) -> bytes:
        """8 bytes of the measurements, the same each time a board sends the frame.

        Times that count from the moment of arrival are left out: the frame grows older while it
        waits to be sent again.
        """
        contents = [
            (each.name, each.value, each.unit, each.absolute_time_seconds)
            for measurements in self.quantities.values()
            for each in measurements
        ]
        # `repr` of names, numbers and texts is the same in each version of Python.
        return hashlib.blake2b(repr(contents).encode(), digest_size=8).digest()


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
