"""The status of a port for the web page: counters, and the latest values of its devices.

The size of each part is limited, because the status report about all ports must fit into 64 KiB
(docs/formats/control-socket.md).
"""

import logging
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from firmware_bridge.protocols.frame import Frame, Tally, Unread
from firmware_bridge.readings.measurement import Measurement
from firmware_bridge.readings.numbering import Numbering
from firmware_bridge.readings.publications import time_seconds_of
from firmware_bridge.readings.steps import Steps
from firmware_bridge.serial.damage_share import DamageShare
from firmware_bridge.serial.presence import Presence

logger = logging.getLogger(__name__)

DEVICES_SHOWN_MAX = 64
QUANTITIES_SHOWN_MAX = 32
TEXT_CHARACTERS_SHOWN_MAX = 64
SILENT_DEVICES_NAMED_MAX = 8

PortState = Literal["open", "lost", "waiting"]


@dataclass
class DeviceStatus:
    """The latest values of one device, and the failed requests if the device is polled.

    `last_ms` is None if the device has sent nothing since the bridge started. `failed_count` is the
    number of failed requests since the last valid response, and `failed_reason` is the latest
    reason. If the device's clock is wrong, `clock_ms` is the time that the clock shows.
    """

    device: str
    boot: int | None = None
    sequence: int | None = None
    last_ms: int | None = None
    clock_ms: int | None = None
    failed_count: int = 0
    failed_reason: str | None = None
    quantities: dict[str, dict[str, object]] = field(default_factory=dict)
    _steps: dict[str, Steps] = field(default_factory=dict)

    def show(self, measurement: Measurement, unit: str | None, arrival_seconds: float) -> None:
        """Store the latest value of a quantity, unless the device has too many quantities."""
        name, value = measurement.name, measurement.value
        if name not in self.quantities and len(self.quantities) >= QUANTITIES_SHOWN_MAX:
            return
        self.quantities[name] = {
            "name": name,
            "value": _shown(value),
            "unit": unit,
            "time_ms": max(0, int(time_seconds_of(measurement, arrival_seconds) * 1000)),
        }
        if isinstance(value, int | float):
            self._steps.setdefault(name, Steps()).add(arrival_seconds, value)

    def _quantities_with_steps(self) -> list[dict[str, object]]:
        """Return the quantities as JSON.

        If a quantity arrives often, its 5-second statistics are included.
        """
        now = time.time()
        shown = []
        for name, quantity in self.quantities.items():
            steps = self._steps[name].whole(now) if name in self._steps else []
            shown.append({**quantity, "steps": steps} if steps else quantity)
        return shown

    def note_failure(self, reason: str) -> None:
        """Count a request without a valid response."""
        self.failed_count += 1
        self.failed_reason = reason

    def note_answer(self) -> None:
        """Reset the count of failures after a valid response, which can also be a refusal."""
        self.failed_count = 0
        self.failed_reason = None

    def as_json(
        self, silent_seconds: float | None, unread: Sequence[Unread] = ()
    ) -> dict[str, object]:
        """Return the device's part of the port's status as JSON.

        `unread` lists the quantities that currently have no value, for all devices on the port. The
        result includes only the quantities of this device.
        """
        return {
            "device": self.device,
            "silent_seconds": None if silent_seconds is None else round(silent_seconds),
            "boot": self.boot,
            "sequence": self.sequence,
            "last_ms": self.last_ms,
            "clock_ms": self.clock_ms,
            "failed": {"count": self.failed_count, "reason": self.failed_reason}
            if self.failed_count
            else None,
            "quantities": self._quantities_with_steps(),
            "unread": [
                {"name": each.quantity, "place": each.place, "reason": each.reason}
                for each in unread
                if each.device == self.device
            ][:QUANTITIES_SHOWN_MAX],
        }


@dataclass
class PortStatus:
    """The state of one port, and its counters since the start of the bridge.

    `fault` explains in a sentence why the port is not open. `opened` counts all openings, and
    `resets` counts the openings after silence. `failures` counts internal errors of the bridge, and
    `resyncs` counts recoveries after damaged data. `dropped` counts lost readings and
    acknowledgements by reason. `line_errors` contains the errors that the driver or the server has
    counted. `quiet_since` is the monotonic time at which the latest byte arrived. `held` is True
    while the port is not read because the outbox is full. `dropping` is the reason why readings are
    being dropped, or None. A unit in `units` replaces the unit that the sensor sent.
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
    last_frame_ms: int | None = None
    opened: int = 0
    resets: int = 0
    resyncs: int = 0
    silent: bool = False
    held: bool = False
    when_full: str = "drop_newest"
    dropping: str | None = None
    units: Mapping[str, str] = field(default_factory=dict)
    quiet_since: float = field(default_factory=time.monotonic)
    line_errors: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    devices: dict[str, DeviceStatus] = field(default_factory=dict)
    _wrong_clocks: dict[str, int] = field(default_factory=dict)

    def device(self, name: str) -> DeviceStatus | None:
        """Return the status of a device, or None if too many devices are shown already."""
        if name not in self.devices:
            if len(self.devices) >= DEVICES_SHOWN_MAX:
                return None
            self.devices[name] = DeviceStatus(name)
        return self.devices[name]

    def note_bytes(self, count: int) -> None:
        """Count bytes that were read. If the port was silent, log that the silence has ended."""
        if not count:
            return  # The line is still silent.
        self.bytes_read += count
        now = time.monotonic()
        if self.silent:
            self.silent = False
            logger.info(
                "serial port %s: bytes again after %.0f s", self.name, now - self.quiet_since
            )
        self.quiet_since = now

    def note_frame(self, arrival_seconds: float) -> None:
        """Count a frame that arrived at the Unix time `arrival_seconds`."""
        self.frames += 1
        self.last_frame_ms = int(arrival_seconds * 1000)

    def note_line_errors(self, counted: Mapping[str, int], base: Mapping[str, int]) -> None:
        """Add the line errors that have occurred since the driver's counters were last read.

        `counted` contains the current counters, and `base` contains the earlier ones. Overruns are
        logged when their total has doubled.
        """
        before = self.overruns
        for name, count in counted.items():
            # A driver's counter has 32 bits, and starts at 0 when the device is plugged in again.
            self.line_errors[name] += max(0, count - base.get(name, 0))
        overruns = self.overruns
        if overruns.bit_length() > before.bit_length():
            # Only the first overrun and each doubling of the total are logged.
            logger.warning(
                "serial port %s: %d overruns: bytes were lost before the bridge could read them; "
                "use flow_control, a lower rate, or a faster machine",
                self.name,
                overruns,
            )

    @property
    def overruns(self) -> int:
        """The number of times that bytes were lost because a buffer was full.

        The buffer can be in the chip or in the driver.
        """
        return self.line_errors["overrun"] + self.line_errors["buffer_overrun"]

    def note_clock(self, device: str, given_seconds: float | None) -> None:
        """Record that a device's clock is wrong, or that it is right again.

        `given_seconds` is the Unix time that the wrong clock shows, or None if the clock is right.
        """
        if given_seconds is None:
            self._wrong_clocks.pop(device, None)
        elif device in self._wrong_clocks or len(self._wrong_clocks) < DEVICES_SHOWN_MAX:
            self._wrong_clocks[device] = max(0, int(given_seconds * 1000))

    def note(self, frame: Frame, numbering: Numbering, arrival_seconds: float) -> None:
        """Store the values of an accepted frame as the latest values of its device."""
        self.readings += len(frame.quantities)
        self.last_reading_ms = int(arrival_seconds * 1000)
        device = self.device(numbering.device)
        if device is None:
            return
        device.boot = numbering.boot
        device.sequence = numbering.sequence
        device.last_ms = self.last_reading_ms
        device.clock_ms = self._wrong_clocks.get(numbering.device)
        for measurements in frame.quantities.values():
            for measurement in measurements:
                unit = self.units.get(measurement.name, measurement.unit)
                device.show(measurement, unit, arrival_seconds)

    def as_json(
        self, tally: Tally, presence: Presence, damage: DamageShare, unread: Sequence[Unread] = ()
    ) -> dict[str, object]:
        """Return the port's part of the status report (docs/formats/control-socket.md)."""
        silent = presence.silent()
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
            "reopened": max(0, self.opened - 1),
            "resets": self.resets,
            "resyncs": self.resyncs,
            "overruns": self.overruns,
            "line_errors": {name: n for name, n in self.line_errors.items() if n},
            "silent_seconds": round(time.monotonic() - self.quiet_since) if self.silent else None,
            "held": self.held,
            "when_full": self.when_full,
            "dropping": self.dropping,
            **tally.as_json(),
            **damage.as_json(),
            "devices_watched": presence.watched,
            "devices_silent": len(silent),
            "silent_devices": sorted(silent)[:SILENT_DEVICES_NAMED_MAX],
            "dropped": dict(self.dropped),
            "last_frame_ms": self.last_frame_ms,
            "last_reading_ms": self.last_reading_ms,
            "devices": [
                device.as_json(silent.get(name), unread)
                for name, device in self._devices_shown(silent).items()
            ],
        }

    def _devices_shown(self, silent: Mapping[str, float]) -> dict[str, DeviceStatus]:
        """Return the devices to show in the status, at most `DEVICES_SHOWN_MAX`.

        Devices that have sent a frame come first. Other devices are added if they are in `silent`.
        """
        never = [name for name in sorted(silent) if name not in self.devices]
        room = DEVICES_SHOWN_MAX - len(self.devices)
        return {**self.devices, **{name: DeviceStatus(name) for name in never[: max(0, room)]}}


def _shown(value: object) -> object:
    if isinstance(value, bytes):
        value = value.hex()
    return value[:TEXT_CHARACTERS_SHOWN_MAX] if isinstance(value, str) else value
