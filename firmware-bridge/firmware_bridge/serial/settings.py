"""Settings of one serial port. The configuration has already validated their values."""

from dataclasses import dataclass, field
from typing import Literal

from firmware_bridge.protocols.interface import DecoderSettings, PollerSettings
from gateway.process.declarations.readings import Readings
from gateway.process.declarations.serial_line import ControlLine, FlowControl, Line, Rs485

WhenFull = Literal["stop_reading", "drop_oldest", "drop_newest"]


@dataclass(frozen=True)
class PortSettings:
    """Settings of one serial port. Exactly one of `path`, `usb` and `address` is given.

    `usb` is "VID:PID" or "VID:PID:SERIAL". `address` is "tcp://HOST:PORT", or has one of the
    schemes rtu+tcp, modbus+tcp and rfc2217. `framing` is the name of the protocol. `units` contains
    the SenML unit of each quantity. `device` is the name of the sensor, which is by default the
    port's name. `readings` contains the settings for publishing.

    A port that receives no bytes is reported after `silent_seconds`, and reopened after
    `reset_seconds`. A device that sends no frames is reported after `device_silent_seconds`. None
    disables the report or the reopening. `when_full` is the action while the outbox is full. If
    `when_full` is None, the property `policy` returns the default action.
    """

    name: str
    path: str | None
    usb: str | None
    framing: str
    protocol: DecoderSettings | PollerSettings
    line: Line = field(default_factory=Line)
    units: dict[str, str] = field(default_factory=dict)
    device: str | None = None
    readings: Readings = field(default_factory=Readings)
    address: str | None = None
    flow_control: FlowControl = "none"
    low_latency: bool = True
    dtr: ControlLine = "on"
    rts: ControlLine = "on"
    rs485: Rs485 | None = None
    silent_seconds: float | None = None
    reset_seconds: float | None = None
    when_full: WhenFull | None = None
    device_silent_seconds: float | None = None

    @property
    def polled_line(self) -> Line | None:
        """Settings of the serial line, or None if the devices are polled over Modbus TCP."""
        is_connection = self.address is not None and self.address.startswith("modbus+tcp:")
        return None if is_connection else self.line

    @property
    def device_name(self) -> str:
        """The device name for frames that do not name a device."""
        return self.name if self.device is None else self.device

    def has_device(self, name: str) -> bool:
        """Return True if this port can have a device with this name."""
        protocol = self.protocol
        if protocol.device_prefix is not None:
            return name.startswith(protocol.device_prefix)
        if protocol.device_names:
            return name in protocol.device_names
        is_part = protocol.has_parts and name.startswith(f"{self.device_name}-")
        return is_part or name == self.device_name

    @property
    def policy(self) -> WhenFull:
        """The action while the outbox is full: the setting `when_full` or its default.

        The default is `stop_reading` if the device can wait before it sends more data. Otherwise,
        it is `drop_newest`.
        """
        if self.when_full is not None:
            return self.when_full
        can_wait = self.protocol.can_wait or self.flow_control != "none"
        return "stop_reading" if can_wait else "drop_newest"

    @property
    def place(self) -> str:
        """The location of the port as configured: its path, its address or its USB identity."""
        return self.path or self.address or f"usb:{self.usb}"
