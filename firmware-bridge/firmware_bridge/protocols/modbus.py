"""Modbus RTU: devices on one line that are asked for their registers::

    address u8 | function u8 | first register u16 | count u16 | crc16          the request
    address u8 | function u8 | bytes u8 | values ... | crc16                   the answer
    address u8 | function u8 + 0x80 | exception u8 | crc16                     or this

Numbers are big-endian, the CRC-16/MODBUS little-endian (Modbus over Serial Line 1.02). Registers
that follow each other are asked for together. What an answer is made of is in `modbus_answer.py`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from firmware_bridge.protocols.declared_field import ByteOrder
from firmware_bridge.protocols.frame import Damage, Frame
from firmware_bridge.protocols.interface import Pause, Poller, PollerSettings, Request
from firmware_bridge.protocols.modbus_answer import (
    NOISE_BYTES_MAX,
    Block,
    answer_bytes_of,
    blocks_of,
    read_answer,
    request_of,
    timed_out,
)
from firmware_bridge.protocols.modbus_register import Register
from gateway.keys.names import Name
from gateway.keys.quantities import Duration, Items, Whole, refusal
from gateway.keys.section import Section
from gateway.keys.serial_line import Line

ADDRESS_MAX = 247
# Start, 8 bits of data, parity or a second stop bit, stop.
_BITS_PER_CHARACTER = 11
_SILENT_CHARACTERS = 3.5
# From 19,200 baud on the standard has a fixed time.
_SILENT_SECONDS_MIN = 0.00175


@dataclass(frozen=True, kw_only=True)
class Device(Section):
    """One device on the line."""

    descriptions: ClassVar = {
        "name": "The device's name in topics.",
        "address": "Its address on the line.",
        "registers": "Its quantities.",
        "poll_interval": "Time from one of its readings to the next; else the port's.",
    }

    name: Name
    address: Annotated[int, Whole(1, ADDRESS_MAX)]
    registers: Annotated[tuple[Register, ...], Items(1)]
    poll_interval: Annotated[float | None, Duration(0.01, 86400)] = None

    def check(self) -> None:
        """Refuse two quantities of one name."""
        _refuse_repeated([each.name for each in self.registers], "name", "registers")


@dataclass(frozen=True, kw_only=True)
class Modbus(PollerSettings):
    """Modbus RTU devices that are asked for their registers."""

    data_bits: ClassVar = (8,)
    descriptions: ClassVar = {
        "devices": "The devices on the line.",
        "poll_interval": "Time from one reading of a device to the next, of those without one.",
        "answer_timeout": "Time that a device may take before it answers.",
        "turnaround": "Silence before a request, on top of the standard's 3.5 characters.",
        "word_order": "Order of the registers of a number that takes several.",
        "echo": "Whether the adapter gives back what is sent, as some for RS-485 do.",
    }

    devices: Annotated[tuple[Device, ...], Items(1)]
    poll_interval: Annotated[float, Duration(0.01, 86400)] = 10.0
    answer_timeout: Annotated[float, Duration(0.01, 60)] = 1.0
    turnaround: Annotated[float, Duration(0, 10)] = 0.0
    word_order: Literal["big", "little"] = "big"
    echo: bool = False

    @property
    def units(self) -> tuple[str | None, ...]:
        """The units of all registers."""
        return tuple(each.unit for device in self.devices for each in device.registers)

    @property
    def device_names(self) -> tuple[str, ...]:
        """The devices that answer."""
        return tuple(device.name for device in self.devices)

    def value_names(self, device: str) -> frozenset[str]:
        """Return the device's registers."""
        return frozenset(
            register.name
            for each in self.devices
            if each.name == device
            for register in each.registers
        )

    def check(self) -> None:
        """Refuse two devices of one name or address."""
        _refuse_repeated(self.device_names, "name", "devices")
        _refuse_repeated([str(each.address) for each in self.devices], "address", "devices")

    def poller(self, line: Line) -> "ModbusPoller":
        """Create a poller for the devices on `line`."""
        return ModbusPoller(self, line)


def _refuse_repeated(values: Sequence[str], key: str, within: str) -> None:
    for value in values:
        if values.count(value) > 1:
            raise refusal(f"{key} {value} once in {within}, not several times")


class ModbusPoller(Poller):
    """Asks each device for its blocks of registers, one block a request.

    A device that does not answer, or not properly, is asked again when its interval is over.
    """

    def __init__(self, settings: Modbus, line: Line) -> None:
        self._settings = settings
        order: ByteOrder = settings.word_order
        self._word_order = order
        self._character_seconds = _BITS_PER_CHARACTER / line.baud_rate
        silent = max(_SILENT_CHARACTERS * self._character_seconds, _SILENT_SECONDS_MIN)
        self._silent_seconds = silent + settings.turnaround
        self._blocks = [
            [
                Block(device.name, device.address, registers)
                for registers in blocks_of(device.registers)
            ]
            for device in settings.devices
        ]
        self._intervals = [
            device.poll_interval or settings.poll_interval for device in settings.devices
        ]
        self._due = [0.0] * len(self._blocks)
        self._device = 0
        self._waiting: list[Block] = []
        self._asked: Block | None = None
        self._quiet_until = 0.0

    def begin(self, now_seconds: float) -> None:
        """Begin with all devices; what was under way is forgotten."""
        self._due = [now_seconds] * len(self._blocks)
        self._waiting = []
        self._asked = None
        self._quiet_until = now_seconds + self._silent_seconds

    def next_step(self, now_seconds: float) -> Request | Pause:
        """Return the next block's request once the line was silent for long enough."""
        assert self._asked is None, "one request at a time"
        if not self._waiting:
            self._device = min(range(len(self._due)), key=lambda each: self._due[each])
            if self._due[self._device] > now_seconds:
                return Pause(self._due[self._device] - now_seconds)
        if self._quiet_until > now_seconds:
            return Pause(self._quiet_until - now_seconds)
        if not self._waiting:
            self._waiting = list(self._blocks[self._device])
            interval = self._intervals[self._device]
            # What was missed is not made up for: an interval that is over is left out.
            late_seconds = now_seconds - self._due[self._device]
            self._due[self._device] += (late_seconds // interval + 1) * interval
        self._asked = self._waiting.pop(0)
        return self._request_for(self._asked)

    def _request_for(self, block: Block) -> Request:
        data = request_of(block)
        echo_bytes = len(data) if self._settings.echo else 0
        answer_bytes = echo_bytes + answer_bytes_of(block)
        on_line = (len(data) + answer_bytes) * self._character_seconds
        timeout = self._settings.answer_timeout
        # A device that is late by as much again is heard no more.
        most = answer_bytes + NOISE_BYTES_MAX
        return Request(data, most, timeout + on_line, timeout, block.text)

    def read(self, answer: bytes) -> Frame | Damage | None:
        """Decode an answer; None: more has to come."""
        assert self._asked is not None
        if self._settings.echo:
            sent = request_of(self._asked)
            if len(answer) <= len(sent) and sent.startswith(answer):
                return None
            answer = answer.removeprefix(sent)
        return read_answer(answer, self._asked, self._word_order)

    def time_out(self, answer: bytes) -> Frame | Damage:
        """Judge what came in time."""
        assert self._asked is not None
        if self._settings.echo:
            answer = answer.removeprefix(request_of(self._asked))
        return timed_out(answer, self._asked)

    def end(self, outcome: Frame | Damage, now_seconds: float) -> None:
        """Go on with the next block, or without a device that failed with the next one."""
        if isinstance(outcome, Damage):
            self._waiting = []
        self._asked = None
        self._quiet_until = now_seconds + self._silent_seconds
