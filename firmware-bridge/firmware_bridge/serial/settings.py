"""Settings of one port: plain values, already checked by the configuration."""

from dataclasses import dataclass, field
from typing import Literal

from firmware_bridge.protocols.interface import DecoderSettings, PollerSettings
from gateway.process.declarations.readings import Readings
from gateway.process.declarations.serial_line import ControlLine, FlowControl, Line, Rs485

WhenFull = Literal["stop_reading", "drop_oldest", "drop_newest"]


@dataclass(frozen=True)
class PortSettings:
    """One serial port. Exactly one of `path`, `usb` ("VID:PID" or "VID:PID:SERIAL") and `address`
    ("tcp://HOST:PORT", "rtu+tcp://", "modbus+tcp://" or "rfc2217://") is given.

    `framing` is the protocol's name. `units` maps a quantity to its SenML unit. `device` names the
    sensor; a port without it lends its own name. `readings` is how they are published. A port
    without a byte for `silent_seconds` is reported, and opened again after `reset_seconds`; None:
    never. A device without a frame for `device_silent_seconds` is reported as missing. `when_full`
    is what is done where the outbox is full; None: what the line allows.
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
        """The line whose devices are asked; None: a connection that is none, as of Modbus TCP."""
        is_connection = self.address is not None and self.address.startswith("modbus+tcp:")
        return None if is_connection else self.line

    @property
    def device_name(self) -> str:
        """The device of frames that do not name another."""
        return self.name if self.device is None else self.device

    def has_device(self, name: str) -> bool:
        """Return whether a device of this name can be one of the port's."""
        protocol = self.protocol
        if protocol.device_prefix is not None:
            return name.startswith(protocol.device_prefix)
        if protocol.device_names:
            return name in protocol.device_names
        is_part = protocol.has_parts and name.startswith(f"{self.device_name}-")
        return is_part or name == self.device_name

    @property
    def policy(self) -> WhenFull:
        """Action while the outbox is full: a device that can wait is not read."""
        if self.when_full is not None:
            return self.when_full
        can_wait = self.protocol.can_wait or self.flow_control != "none"
        return "stop_reading" if can_wait else "drop_newest"

    @property
    def place(self) -> str:
        """Place of the port, as configured."""
        return self.path or self.address or f"usb:{self.usb}"
