"""What the bridge is told: plain values, checked when they are made.

The configuration room turns the operator's file into these; a value that cannot work is refused
here with a `ValueError` whose message names the value and the mend.
"""

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, get_args

from firmware_bridge.readings.names import NAME_SHAPE, is_name

FramingName = Literal["json", "key_value", "csv", "nmea", "board"]
Parity = Literal["N", "E", "O"]

# Packet identifiers are 16 bits and 0 is none of them. [MQTT-2.3.1-1]
WINDOW_MAX = 65535
# A smaller outbox would be full after a few frames.
OUTBOX_BYTES_MIN = 65536
# A board that waits for each acknowledgement sends a frame after this long at the latest.
COMMIT_DELAY_SECONDS_MAX = 10.0

_USB = re.compile(r"[0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}(:.+)?")
BOARD_DEVICE_PREFIX = "board-"


@dataclass(frozen=True)
class LineSettings:
    """How bits stand on the line: rate (bits/s), data bits, parity (none, even, odd), stop bits."""

    baud_rate: int = 115200
    data_bits: int = 8
    parity: Parity = "N"
    stop_bits: int = 1

    def __post_init__(self) -> None:
        if self.baud_rate < 1:
            raise ValueError(f"baud_rate {self.baud_rate} is not a positive number")
        if self.data_bits not in (7, 8):
            raise ValueError(f"{self.data_bits} data bits: use 7 or 8")
        if self.parity not in get_args(Parity):
            raise ValueError(f"parity {self.parity!r} is not one of {', '.join(get_args(Parity))}")
        if self.stop_bits not in (1, 2):
            raise ValueError(f"{self.stop_bits} stop bits: use 1 or 2")


@dataclass(frozen=True)
class PortSettings:
    """One serial port. Exactly one of `path` and `usb` ("VID:PID" or "VID:PID:SERIAL") is given.

    `columns` are the quantities of a CSV line, in order ("_" leaves a column out). `units` maps a
    quantity to its SenML unit. `device` names the sensor; a port without it lends its own name.
    """

    name: str
    path: str | None
    usb: str | None
    framing: FramingName
    line: LineSettings = LineSettings()
    columns: tuple[str, ...] = ()
    units: dict[str, str] = field(default_factory=dict)
    device: str | None = None

    def __post_init__(self) -> None:
        if not is_name(self.name):
            raise ValueError(f"serial port name {self.name!r}: use {NAME_SHAPE}")
        where = f"serial port {self.name!r}"
        if (self.path is None) == (self.usb is None):
            raise ValueError(f"{where}: give either path or usb, and not both")
        if self.usb is not None and not _USB.fullmatch(self.usb):
            raise ValueError(f"{where}: usb {self.usb!r} is not VID:PID or VID:PID:SERIAL in hex")
        if self.framing not in get_args(FramingName):
            allowed = ", ".join(get_args(FramingName))
            raise ValueError(f"{where}: framing {self.framing!r} is not one of {allowed}")
        if self.framing == "board" and self.line.data_bits != 8:
            raise ValueError(f"{where}: boards send bytes of 8 bits, set 8 data bits in line")
        self._check_columns(where)
        self._check_device(where)

    def _check_columns(self, where: str) -> None:
        if (self.framing == "csv") != bool(self.columns):
            raise ValueError(f"{where}: columns belong to framing csv, which needs at least one")
        quantities = [column for column in self.columns if column != "_"]
        for column in quantities:
            if not is_name(column):
                raise ValueError(f"{where}: column {column!r}: use {NAME_SHAPE}, or '_' to skip it")
        if len(set(quantities)) != len(quantities):
            raise ValueError(f"{where}: a column's name stands twice in {list(self.columns)}")

    def _check_device(self, where: str) -> None:
        if self.framing == "board":
            if self.device is not None:
                raise ValueError(f"{where}: boards name themselves, leave device out")
            return
        if not is_name(self.device_name):
            raise ValueError(f"{where}: device {self.device!r}: use {NAME_SHAPE}")
        # Boards number their own readings; a line device of the same name would repeat numbers.
        if self.device_name.startswith(BOARD_DEVICE_PREFIX):
            raise ValueError(f"{where}: device names that begin with 'board-' belong to boards")

    @property
    def device_name(self) -> str:
        return self.name if self.device is None else self.device


@dataclass(frozen=True)
class BridgeSettings:
    """The whole bridge: where its outbox lives, which broker it feeds, which ports it reads.

    `window` bounds the QoS 2 exchanges in flight; it must not exceed the broker's
    `max_awaiting_rel`. `outbox_bytes_max` bounds what waits on disk while the broker is away.
    `commit_delay_seconds` is how long frames of boards may wait for others before their commit.
    """

    data_dir: Path
    broker_host: str
    broker_port: int
    client_id: str
    username: str | None
    password: str | None
    control_socket: Path
    ports: tuple[PortSettings, ...]
    window: int = 100
    outbox_bytes_max: int = 268435456
    commit_delay_seconds: float = 0.0
    report_seconds: float = 1.0

    def __post_init__(self) -> None:
        if not self.client_id:
            raise ValueError("bridge client_id is empty: a persistent session needs a name")
        if not 1 <= self.window <= WINDOW_MAX:
            raise ValueError(f"bridge window {self.window} is not in 1 to {WINDOW_MAX}")
        if self.outbox_bytes_max < OUTBOX_BYTES_MIN:
            raise ValueError(
                f"bridge outbox_max {self.outbox_bytes_max} bytes is below {OUTBOX_BYTES_MIN}"
            )
        if not 0 <= self.commit_delay_seconds <= COMMIT_DELAY_SECONDS_MAX:
            raise ValueError(
                f"bridge commit_delay {self.commit_delay_seconds} s is not in 0 to "
                f"{COMMIT_DELAY_SECONDS_MAX:g}"
            )
        if self.report_seconds <= 0:
            raise ValueError(f"bridge report_seconds {self.report_seconds} is not positive")
        if self.password is not None and self.username is None:
            raise ValueError("bridge password without username: MQTT 3.1.1 does not allow it")
        names = [port.name for port in self.ports]
        if len(set(names)) != len(names):
            raise ValueError(f"two serial ports have the same name: {sorted(names)}")
