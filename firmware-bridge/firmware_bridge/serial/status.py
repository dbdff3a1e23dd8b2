"""What the status page shows of a port: counters, and the latest values of its devices.

Bounded in every direction, because the report of all ports must fit 64 KiB
(docs/formats/control-socket.md).
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from firmware_bridge.protocols.frame import Frame, Tally
from firmware_bridge.readings.numbering import Numbering
from firmware_bridge.readings.publications import time_seconds_of

DEVICES_SHOWN_MAX = 64
QUANTITIES_SHOWN_MAX = 32
TEXT_CHARACTERS_SHOWN_MAX = 64

PortState = Literal["open", "lost", "waiting"]


@dataclass
class DeviceStatus:
    """The latest values of one device."""

    device: str
    boot: int = 0
    sequence: int = 0
    last_ms: int = 0
    quantities: dict[str, dict[str, object]] = field(default_factory=dict)

    def as_json(self) -> dict[str, object]:
        """Return its part of the report."""
        return {
            "device": self.device,
            "boot": self.boot,
            "sequence": self.sequence,
            "last_ms": self.last_ms,
            "quantities": list(self.quantities.values()),
        }


@dataclass
class PortStatus:
    """The counters of one port since the bridge's start.

    `dropped` counts what the bridge itself could not take or send, by reason; `failures` how often
    reading the port ended in an error of the bridge's own; `fault` is why the port is not open, in
    a sentence.
    """

    name: str
    framing: str
    path: str
    state: PortState = "waiting"
    fault: str | None = None
    bytes_read: int = 0
    frames: int = 0
    readings: int = 0
    duplicates: int = 0
    repeated_starts: int = 0
    failures: int = 0
    last_reading_ms: int | None = None
    dropped: Counter[str] = field(default_factory=Counter)
    devices: dict[str, DeviceStatus] = field(default_factory=dict)

    def note(self, frame: Frame, numbering: Numbering, arrival_seconds: float) -> None:
        """Show the values of a frame that was taken."""
        self.readings += len(frame.quantities)
        self.last_reading_ms = int(arrival_seconds * 1000)
        device = self.devices.get(numbering.device)
        if device is None:
            if len(self.devices) >= DEVICES_SHOWN_MAX:
                return
            device = self.devices[numbering.device] = DeviceStatus(numbering.device)
        device.boot = numbering.boot
        device.sequence = numbering.sequence
        device.last_ms = self.last_reading_ms
        for measurements in frame.quantities.values():
            for measurement in measurements:
                name = measurement.name
                if name not in device.quantities and len(device.quantities) >= QUANTITIES_SHOWN_MAX:
                    continue
                device.quantities[name] = {
                    "name": name,
                    "value": _shown(measurement.value),
                    "unit": measurement.unit,
                    "time_ms": max(0, int(time_seconds_of(measurement, arrival_seconds) * 1000)),
                }

    def as_json(self, tally: Tally) -> dict[str, object]:
        """Return the port's part of the report (docs/formats/control-socket.md)."""
        return {
            "name": self.name,
            "path": self.path,
            "framing": self.framing,
            "state": self.state,
            "trouble": self.fault,
            "bytes": self.bytes_read,
            "frames": self.frames,
            "readings": self.readings,
            "duplicates": self.duplicates,
            "repeated_starts": self.repeated_starts,
            "failures": self.failures,
            "damaged": dict(tally.damaged),
            "foreign": dict(tally.foreign),
            "dropped": dict(self.dropped),
            "last_reading_ms": self.last_reading_ms,
            "devices": [device.as_json() for device in self.devices.values()],
        }


def _shown(value: object) -> object:
    if isinstance(value, bytes):
        value = value.hex()
    return value[:TEXT_CHARACTERS_SHOWN_MAX] if isinstance(value, str) else value
