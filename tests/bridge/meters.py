"""A polled protocol that exists in tests only. Each meter on the line has an address::

    ?07 LF                  the request
    !07 215 4F LF           the response: address, value, XOR of the bytes before the last space

The protocol shows how polling is written, and how the port uses the frames.
"""

from dataclasses import dataclass
from functools import reduce
from operator import xor
from typing import Annotated, ClassVar

from firmware_bridge.protocols.frame import Damage, Frame, Outcome
from firmware_bridge.protocols.interface import Pause, Poller, PollerSettings, Request
from firmware_bridge.readings.measurement import Measurement

from gateway.process.declarations.names import Name
from gateway.process.declarations.quantities import Duration, Items, Whole
from gateway.process.declarations.section import Section
from gateway.process.declarations.serial_line import Line

ANSWER_BYTES_MAX = 32


@dataclass(frozen=True, kw_only=True)
class Meter(Section):
    """One meter on the line."""

    descriptions: ClassVar = {"address": "The meter's address.", "name": "Its device's name."}

    address: Annotated[int, Whole(1, 99)]
    name: Name


@dataclass(frozen=True, kw_only=True)
class Meters(PollerSettings):
    """Settings of meters that are polled for their value."""

    descriptions: ClassVar = {
        "meters": "The meters of the line.",
        "poll_interval": "Time from one question of a meter to the next.",
        "answer_timeout": "Time that a meter may take for its answer.",
        "late": "Time after that in which an answer may still come.",
    }

    meters: Annotated[tuple[Meter, ...], Items(1)]
    poll_interval: Annotated[float, Duration(0.001, 3600)] = 10.0
    answer_timeout: Annotated[float, Duration(0.001, 60)] = 1.0
    late: Annotated[float, Duration(0, 60)] = 0.0

    @property
    def device_names(self) -> tuple[str, ...]:
        return tuple(meter.name for meter in self.meters)

    def poller(self, line: Line | None) -> "MeterPoller":
        return MeterPoller(self)


class MeterPoller(Poller):
    """Polls each meter at its interval, one meter at a time."""

    def __init__(self, settings: Meters) -> None:
        self._settings = settings
        self._due = dict.fromkeys(settings.meters, 0.0)
        self._asked: Meter | None = None

    def begin(self, now_seconds: float) -> None:
        self._due = dict.fromkeys(self._settings.meters, now_seconds)
        self._asked = None

    def next_step(self, now_seconds: float) -> Request | Pause:
        assert self._asked is None, "one request at a time"
        meter, due = min(self._due.items(), key=lambda item: item[1])
        if due > now_seconds:
            return Pause(due - now_seconds)
        self._asked = meter
        return Request(
            b"?%02d\n" % meter.address,
            ANSWER_BYTES_MAX,
            self._settings.answer_timeout,
            self._settings.late,
            meter.name,
            "energy",
        )

    def read(self, answer: bytes) -> Frame | Damage | None:
        assert self._asked is not None
        line, end, _ = answer.partition(b"\n")
        if not end:
            return None
        found = value_of(line)
        if found is None:
            return Damage("checksum")
        address, value = found
        if address != self._asked.address:
            return Damage("address")
        return Frame({"energy": [Measurement("energy", value, "J")]}, device=self._asked.name)

    def end(self, outcome: Outcome, now_seconds: float) -> str:
        assert self._asked is not None
        self._due[self._asked] = now_seconds + self._settings.poll_interval
        self._asked = None
        return ""


def value_of(line: bytes) -> tuple[int, int] | None:
    """Return address and value of a response, or None if it is damaged."""
    content, _, check = line.rpartition(b" ")
    if not content.startswith(b"!") or check != b"%02X" % reduce(xor, content, 0):
        return None
    address, _, value = content[1:].partition(b" ")
    return int(address), int(value)


def answer_of(address: int, value: int) -> bytes:
    content = b"!%02d %d" % (address, value)
    return content + b" %02X\n" % reduce(xor, content, 0)
