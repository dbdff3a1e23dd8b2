"""One serial port and the protocol on it: `[[serial]]`.

The keys of a protocol are declared with the protocol: `ProtocolSettings`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

from gateway.configuration.addresses import FilePath
from gateway.keys.names import Name
from gateway.keys.protocol import ProtocolSettings
from gateway.keys.quantities import Text, Whole, refusal
from gateway.keys.readings import Readings
from gateway.keys.section import NO_KEY, Section, keys_of
from gateway.keys.serial_line import (
    BAUD_RATE_DEFAULT,
    BAUD_RATE_MAX,
    BAUD_RATE_MIN,
    Line,
    LineText,
)

DEFAULT_FRAMING = "board"


@dataclass(frozen=True, kw_only=True)
class Serial(Section):
    """One serial port and the protocol on it."""

    name: Name
    path: Annotated[Path, FilePath()] | None = None
    usb: (
        Annotated[
            str,
            Text(
                r"[0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}(:.{1,128})?",
                'a USB identity VID:PID or VID:PID:SERIAL, like "1546:01a7"',
            ),
        ]
        | None
    ) = None
    framing: str = DEFAULT_FRAMING
    baud_rate: Annotated[int, Whole(BAUD_RATE_MIN, BAUD_RATE_MAX)] = BAUD_RATE_DEFAULT
    line: Annotated[Line, LineText()] | None = None
    units: dict[str, str] = field(default_factory=dict)
    device: Name | None = None
    readings: Readings | None = None
    protocol: ProtocolSettings = field(metadata=NO_KEY)
    """Of the other keys in the table, which are those of `framing`."""

    @classmethod
    def completed(cls, written: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the port's own keys, and all others as those of the protocol."""
        own = {key: value for key, value in written.items() if key in keys_of(cls)}
        return {**own, "protocol": {key: written[key] for key in written if key not in own}}

    @property
    def line_settings(self) -> Line:
        """`line`, else `baud_rate` with 8 data bits, no parity and 1 stop bit."""
        return self.line or Line(self.baud_rate)

    def check(self) -> None:
        if self.line is not None and "baud_rate" in self.given:
            raise refusal('either baud_rate or line, and not both: line has the rate, "9600 8N1"')
        if (self.path is None) == (self.usb is None):
            raise refusal("either path or usb, and not both: one of them names the port")
        if self.protocol.device_prefix is not None and self.device is not None:
            raise refusal(f'no device with framing = "{self.framing}": its devices name themselves')
        if self.line_settings.data_bits not in self.protocol.data_bits:
            bits = " or ".join(str(each) for each in self.protocol.data_bits)
            raise refusal(f'a line of {bits} data bits with framing = "{self.framing}"')
