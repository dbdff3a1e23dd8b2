"""The Modbus protocol: polls the registers of devices on a serial line or a network connection.

Serial lines use Modbus RTU. Network connections use either Modbus TCP or RTU messages sent over TCP
(`rtu+tcp://`).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, ClassVar

from firmware_bridge.protocols.declared_field import ByteOrder
from firmware_bridge.protocols.frame import Damage, Outcome, Unread
from firmware_bridge.protocols.interface import Pause, Poller, PollerSettings, Request, next_due
from firmware_bridge.protocols.modbus_answer import Block, read_answer
from firmware_bridge.protocols.modbus_device import Device
from firmware_bridge.protocols.modbus_plan import BUSY_SECONDS, Plan
from firmware_bridge.protocols.modbus_rtu import NOISE_BYTES_MAX, Rtu
from firmware_bridge.protocols.modbus_tcp import LATE_ANSWERS_MAX, MESSAGE_BYTES_MAX, Tcp
from gateway.process.declarations.quantities import Duration, Items, refusal
from gateway.process.declarations.serial_line import Line

# A start bit, 8 data bits, parity or a second stop bit, and a stop bit.
_BITS_PER_CHARACTER = 11
_SILENT_CHARACTERS = 3.5
# The standard has a fixed time for baud rates above 19,200.
_SILENT_SECONDS_MIN = 0.00175


@dataclass(frozen=True, kw_only=True)
class Modbus(PollerSettings):
    """Settings for Modbus devices and the registers to poll."""

    data_bits: ClassVar = (8,)
    is_binary: ClassVar = True
    address_schemes: ClassVar = {
        "modbus+tcp": "Modbus TCP, for inverters, PLCs and gateways, usually at port 502",
        "rtu+tcp": "a serial server that passes on the bytes of a line, with their CRC",
        "rfc2217": "a serial server with RFC 2217",
    }
    descriptions: ClassVar = {
        "devices": "Devices on the line.",
        "poll_interval": "Time between two readouts, for devices without poll_interval.",
        "answer_timeout": "Time within which a device must respond.",
        "turnaround": "Silence before a request, in addition to the standard's 3.5 characters.",
        "word_order": "Order of the registers in a number that spans several.",
        "byte_order": "Order of the bytes in each register.",
        "echo": "Ignore the echo of sent bytes, which some RS-485 adapters return.",
    }

    devices: Annotated[tuple[Device, ...], Items(1)]
    poll_interval: Annotated[float, Duration(0.01, 86400)] = 10.0
    answer_timeout: Annotated[float, Duration(0.01, 60)] = 1.0
    turnaround: Annotated[float, Duration(0, 10)] = 0.0
    word_order: ByteOrder = "big"
    byte_order: ByteOrder = "big"
    echo: bool = False

    @property
    def units(self) -> tuple[str | None, ...]:
        """The units of all quantities, or None for a quantity without a unit."""
        return tuple(each.unit for device in self.devices for each in device.registers)

    @property
    def device_names(self) -> tuple[str, ...]:
        """The names of the devices."""
        return tuple(dict.fromkeys(device.name for device in self.devices))

    @property
    def resolved_devices(self) -> tuple[Device, ...]:
        """The devices, with complete settings for all registers.

        Settings that a register lacks are taken from its device. Settings that the device lacks too
        are taken from the port.
        """
        return tuple(
            each.resolved(word_order=self.word_order, byte_order=self.byte_order)
            for each in self.devices
        )

    def value_names(self, device: str) -> frozenset[str]:
        """Return the names of the quantities of the device with the name `device`."""
        return frozenset(
            register.name
            for each in self.devices
            if each.name == device
            for register in each.registers
        )

    def check(self) -> None:
        """Check that each device has one address, and that its quantities have different names.

        Several device tables with the same name and address are accepted, because they describe one
        device.
        """
        addresses: dict[str, int] = {}
        taken: set[tuple[str, str]] = set()
        for device in self.devices:
            if addresses.setdefault(device.name, device.address) != device.address:
                raise refusal(
                    f"name {device.name} for one address in devices, and not for "
                    f"{addresses[device.name]} and {device.address}"
                )
            for register in device.registers:
                if (device.name, register.name) in taken:
                    raise refusal(
                        f"name {register.name} once in the tables of device {device.name}, not "
                        "several times"
                    )
                taken.add((device.name, register.name))

    def check_scheme(self, scheme: str | None) -> None:
        """Reject address 0, except with Modbus TCP."""
        for device in self.devices:
            if device.address == 0 and scheme != "modbus+tcp":
                raise refusal(
                    f"an address from 1 to 255 for device {device.name}: 0 is the broadcast "
                    "address of a line, and a unit only with modbus+tcp://"
                )

    def poller(self, line: Line | None) -> "ModbusPoller":
        """Create a poller for the devices on `line`.

        If `line` is None, the poller uses Modbus TCP.
        """
        return ModbusPoller(self, line)


class ModbusPoller(Poller):
    """Poller of Modbus devices. It requests registers in blocks, with one request per block.

    A device that does not respond is polled again at its normal interval.
    """

    def __init__(self, settings: Modbus, line: Line | None) -> None:
        self._settings = settings
        self._messages = Tcp() if line is None else Rtu(echo=settings.echo)
        self._character_seconds = 0.0
        self._silent_seconds = settings.turnaround
        if line is not None:
            self._character_seconds = _BITS_PER_CHARACTER / line.baud_rate
            silent = _SILENT_CHARACTERS * self._character_seconds
            self._silent_seconds += max(silent, _SILENT_SECONDS_MIN)
        devices = settings.resolved_devices
        self._plans = [Plan(device) for device in devices]
        self._intervals = [each.poll_interval or settings.poll_interval for each in devices]
        # Empty until the first connection.
        self._due: list[float] = []
        self._polled: Plan | None = None
        self._requested: Block | None = None
        self._quiet_until = 0.0

    def begin(self, now_seconds: float) -> None:
        """Schedule the first poll of all devices for now, or continue where the polls were ended.

        A schedule is kept, because a network device may close its connection after each poll.
        """
        self._due = self._due or [now_seconds] * len(self._plans)
        if self._requested is not None:
            assert self._polled is not None
            self._polled.resume(self._requested)
        self._requested = None
        self._quiet_until = now_seconds + self._silent_seconds

    def next_step(self, now_seconds: float) -> Request | Pause:
        """Return the request for the next block of registers, or a pause before this request.

        The port must wait until the line has been silent long enough, and until a poll is due.
        """
        assert self._requested is None, "one request at a time"
        if self._quiet_until > now_seconds:
            return Pause(self._quiet_until - now_seconds)
        while True:
            block = None if self._polled is None else self._polled.next_block()
            if block is not None:
                self._requested = block
                return self._request_for(block)
            next_device = min(range(len(self._due)), key=lambda each: self._due[each])
            if self._due[next_device] > now_seconds:
                self._polled = None
                return Pause(self._due[next_device] - now_seconds)
            self._polled = self._begin_poll(next_device, now_seconds)

    def _begin_poll(self, index: int, now_seconds: float) -> Plan:
        """Begin to poll a device, and schedule its next poll. Return the plan of its requests."""
        plan = self._plans[index]
        plan.begin_poll(now_seconds)
        interval = self._intervals[index]
        self._due[index] = next_due(self._due[index], now_seconds, interval)
        return plan

    def _request_for(self, block: Block) -> Request:
        data = self._messages.message_of(block)
        answer_bytes = self._messages.answer_bytes_of(block)
        timeout = self._settings.answer_timeout
        if isinstance(self._messages, Tcp):
            most = answer_bytes + LATE_ANSWERS_MAX * MESSAGE_BYTES_MAX
            # A late response is recognized by its transaction identifier, if the server has any.
            late = 0.0 if self._messages.is_numbered else timeout
            return Request(data, most, timeout, late, block.device, block.text)
        on_line = (len(data) + answer_bytes) * self._character_seconds
        # Bytes that arrive within another timeout belong to a late response and are discarded.
        most = answer_bytes + NOISE_BYTES_MAX
        return Request(data, most, timeout + on_line, timeout, block.device, block.text)

    def read(self, answer: bytes) -> Outcome | None:
        """Decode a response. Return the request's outcome, or None if more bytes are needed."""
        assert self._requested is not None
        found = self._messages.read(answer, self._requested)
        return read_answer(found, self._requested) if isinstance(found, bytes) else found

    def time_out(self, answer: bytes) -> Damage:
        """Return the reason why no complete response arrived in time."""
        assert self._requested is not None
        return self._messages.timed_out(answer, self._requested)

    def end(self, outcome: Outcome, now_seconds: float) -> str:
        """Record the outcome of a request.

        If the outcome shows something new about the device, return a sentence for the log.
        Otherwise return an empty string.
        """
        assert self._requested is not None
        assert self._polled is not None
        learnt = self._polled.end(self._requested, outcome, now_seconds)
        self._requested = None
        pause = BUSY_SECONDS if self._polled.is_busy else 0.0
        self._quiet_until = now_seconds + max(self._silent_seconds, pause)
        return learnt

    def unread(self) -> Sequence[Unread]:
        """Return the quantities that currently have no value, with the reasons."""
        return [each for plan in self._plans for each in plan.unread()]
