"""Settings for a serial port and the protocol used on it: `[[serial]]`.

The keys of each protocol are declared next to the protocol's code (`ProtocolSettings`).
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from gateway.configuration.addresses import FilePath
from gateway.process.declarations.names import Name
from gateway.process.declarations.protocol import ProtocolSettings
from gateway.process.declarations.quantities import Duration, Text, Whole, refusal
from gateway.process.declarations.readings import Readings
from gateway.process.declarations.section import NO_KEY, Section, keys_of
from gateway.process.declarations.serial_line import (
    BAUD_RATE_DEFAULT,
    BAUD_RATE_MAX,
    BAUD_RATE_MIN,
    ControlLine,
    FlowControl,
    Line,
    LineText,
    Rs485,
    RtsLevel,
)

DEFAULT_FRAMING = "board"
_WINDOWS_PORT = re.compile(r"(?:\\\\\.\\)?COM[0-9]{1,3}:?", re.ASCII | re.IGNORECASE)
_WITHOUT_DIRECTORY = re.compile(r"tty[A-Za-z]+[0-9]+|serial/by-(?:id|path)/.+", re.ASCII)
DAY = 86400.0
PORT_MAX = 65535
RS485_DELAY_SECONDS_MAX = 0.1
"""Longest RS-485 delay in seconds. Linux shortens longer ones (drivers/tty/serial/serial_core.c).
"""


@dataclass(frozen=True, kw_only=True)
class Serial(Section):
    """One serial port and the protocol used on it."""

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
    address: (
        Annotated[
            str,
            Text(
                r"(tcp|rfc2217|modbus\+tcp|rtu\+tcp)://"
                r"([A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\]):[1-9][0-9]{0,4}",
                'a serial server "tcp://HOST:PORT" or "rfc2217://HOST:PORT", or for Modbus '
                '"modbus+tcp://HOST:PORT" or "rtu+tcp://HOST:PORT"',
            ),
        ]
        | None
    ) = None
    framing: str = DEFAULT_FRAMING
    baud_rate: Annotated[int, Whole(BAUD_RATE_MIN, BAUD_RATE_MAX)] = BAUD_RATE_DEFAULT
    line: Annotated[Line, LineText()] | None = None
    flow_control: FlowControl = "none"
    low_latency: bool = True
    dtr: ControlLine = "on"
    rts: ControlLine = "on"
    when_full: Literal["stop_reading", "drop_oldest", "drop_newest"] | None = None
    rs485: bool = False
    rs485_rts: RtsLevel = "high"
    rs485_delay_before_send: Annotated[float, Duration(0, RS485_DELAY_SECONDS_MAX)] = 0.0
    rs485_delay_after_send: Annotated[float, Duration(0, RS485_DELAY_SECONDS_MAX)] = 0.0
    silent_after: Annotated[float | None, Duration(1, DAY, never=True)] = 600.0
    reset_after: Annotated[float | None, Duration(1, DAY, never=True)] = None
    device_silent_after: Annotated[float | None, Duration(1, DAY, never=True)] = None
    units: dict[str, str] = field(default_factory=dict)
    device: Name | None = None
    readings: Readings | None = None
    protocol: ProtocolSettings = field(metadata=NO_KEY)
    """Settings of the protocol, built from the keys in the table that do not belong to the port
    itself."""

    @classmethod
    def completed(cls, written: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the table `written` with the protocol's keys moved to a subtable `protocol`."""
        own = {key: value for key, value in written.items() if key in keys_of(cls)}
        return {**own, "protocol": {key: written[key] for key in written if key not in own}}

    @property
    def line_settings(self) -> Line:
        """The settings of the serial line: baud rate, data bits, parity and stop bits.

        The settings come from `line`, or from `baud_rate` with 8 data bits, no parity and 1 stop
        bit. If neither is set, the protocol's usual settings are used.
        """
        if self.line is None and "baud_rate" not in self.given:
            return self.protocol.default_line
        return self.line or Line(self.baud_rate)

    @property
    def rs485_settings(self) -> Rs485 | None:
        """Settings for the driver's RS-485 mode, or None if the driver does not use this mode."""
        if not self.rs485:
            return None
        return Rs485(self.rs485_rts, self.rs485_delay_before_send, self.rs485_delay_after_send)

    @property
    def units_named(self) -> frozenset[str]:
        """All units that are named in the keys of the port or of its protocol."""
        rules = () if self.readings is None else self.readings.quantities
        named = [*self.units.values(), *(rule.unit for rule in rules), *self.protocol.units]
        return frozenset(unit for unit in named if unit is not None)

    @property
    def quantities_named(self) -> tuple[tuple[str, str], ...]:
        """The quantities in `units` and in the rules of `readings`, each after its key."""
        rules = () if self.readings is None else self.readings.quantities
        return (
            *(("units", each) for each in self.units),
            *(("readings.quantities", each.name) for each in rules),
        )

    @property
    def quantities_known(self) -> frozenset[str] | None:
        """All quantities of the port, or None if its devices name them."""
        names: set[str] = set()
        for device in self.protocol.device_names or (self.name,):
            of_device = self.protocol.value_names(device)
            if of_device is None:
                return None
            names |= of_device
        return frozenset(names)

    @property
    def _sets_line(self) -> bool:
        return not {"line", "baud_rate", "flow_control"}.isdisjoint(self.given)

    def check(self) -> None:
        if self.line is not None and "baud_rate" in self.given:
            raise refusal('either baud_rate or line: line includes the rate, like "9600 8N1"')
        if [self.path, self.usb, self.address].count(None) != 2:
            raise refusal("one of path, usb and address, and only one: it selects the port")
        if self.address is not None and int(self.address.rpartition(":")[2]) > PORT_MAX:
            raise refusal(f"an address with a port from 1 to {PORT_MAX}")
        if self.flow_control == "xon_xoff" and self.protocol.is_binary:
            raise refusal(
                f'no flow_control = "xon_xoff" with framing = "{self.framing}": its '
                "frames may contain any byte, also XON and XOFF"
            )
        self._check_path()
        self._check_scheme()
        self._check_control_lines()
        self._check_rs485()
        self._check_rules()
        if self.protocol.device_prefix is not None and self.device is not None:
            raise refusal(f'no device with framing = "{self.framing}": its devices name themselves')
        allowed = self.protocol.allowed_data_bits
        if self.line_settings.data_bits not in allowed:
            bits = " or ".join(str(each) for each in allowed)
            reason = (
                ""
                if allowed == self.protocol.data_bits
                else " and key_file: encrypted bytes have 8 bits"
            )
            raise refusal(f'a line of {bits} data bits with framing = "{self.framing}"{reason}')

    def _check_path(self) -> None:
        """Reject a Windows port name, a device's name without /dev/, and a directory."""
        fix = "a path like /dev/ttyUSB0 (`oncegate serial list` shows the ports)"
        if _WINDOWS_PORT.fullmatch(str(self.path)):
            raise refusal(f"{fix}, and not {self.path}, which is a Windows port")
        if _WITHOUT_DIRECTORY.fullmatch(str(self.path)):
            raise refusal(f"{fix}, and not {self.path}, which lacks /dev/")
        if self.path is not None and os.path.isdir(self.path):
            raise refusal(f"{fix}, and not {self.path}, which is a directory")

    def _check_scheme(self) -> None:
        """Reject unsupported addresses, and keys that are not allowed for the kind of address."""
        if self.address is None:
            self.protocol.check_scheme(None)
            return
        scheme = self.address.partition("://")[0]
        schemes = self.protocol.address_schemes
        if scheme not in schemes:
            allowed = ", or ".join(f'"{each}://..." ({what})' for each, what in schemes.items())
            raise refusal(
                f'an address with framing = "{self.framing}" that is {allowed}, and not {scheme}://'
            )
        if scheme == "modbus+tcp" and self._sets_line:
            raise refusal("no line, baud_rate or flow_control with modbus+tcp://: it has no line")
        if scheme != "rfc2217" and self._sets_line:
            raise refusal(
                f"no line, baud_rate or flow_control with {scheme}://, which cannot set them: set "
                "them at the server, or use rfc2217://"
            )
        self.protocol.check_scheme(scheme)

    def _check_control_lines(self) -> None:
        if self.address is not None and not {"dtr", "rts"}.isdisjoint(self.given):
            raise refusal("no dtr or rts with address: set them at the server")
        if "rts" in self.given and (self.rs485 or self.flow_control == "rts_cts"):
            raise refusal('no rts with rs485 or flow_control = "rts_cts", which drive RTS')

    def _check_rs485(self) -> None:
        details = [key for key in self.given if key.startswith("rs485_")]
        if details and not self.rs485:
            raise refusal(f"rs485 = true with {min(details)}, or neither of them")
        if self.rs485 and self.address is not None:
            raise refusal("no rs485 with address: the server switches the direction")
        if self.rs485 and self.flow_control == "rts_cts":
            raise refusal('no flow_control = "rts_cts" with rs485: RTS switches the direction')

    def _check_rules(self) -> None:
        """Reject conversion rules that the protocol cannot apply to its readings.

        For example, one rule cannot convert all measurements of an NMEA frame, because their units
        differ.
        """
        for rule in () if self.readings is None else self.readings.quantities:
            is_part = "/" in rule.name
            if is_part and not self.protocol.has_several:
                raise refusal(
                    f'no "/" in the rule "{rule.name}" with framing = "{self.framing}": its '
                    "quantities have one measurement each"
                )
            if self.protocol.has_several and not is_part and rule.changes_values:
                raise refusal(
                    f'scale, offset and unit by measurement ("{rule.name}/...", like "gga/alt") '
                    f'and not for the whole of "{rule.name}", whose numbers differ in kind'
                )
