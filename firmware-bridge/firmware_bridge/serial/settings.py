"""What one port is: plain values, checked by the configuration before they come here."""

from dataclasses import dataclass, field

from firmware_bridge.protocols.interface import DecoderSettings, PollerSettings
from gateway.keys.readings import Readings
from gateway.keys.serial_line import Line


@dataclass(frozen=True)
class PortSettings:
    """One serial port. Exactly one of `path` and `usb` ("VID:PID" or "VID:PID:SERIAL") is given.

    `framing` is the protocol's name. `units` maps a quantity to its SenML unit. `device` names the
    sensor; a port without it lends its own name. `readings` is how they are published.
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

    @property
    def device_name(self) -> str:
        """The device of frames that do not name another."""
        return self.name if self.device is None else self.device
