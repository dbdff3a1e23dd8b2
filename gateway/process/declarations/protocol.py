"""The base class for the settings of serial protocols."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from gateway.process.declarations.section import Section
from gateway.process.declarations.serial_line import Line


@dataclass(frozen=True, kw_only=True)
class ProtocolSettings(Section):
    """Base class for the settings of one serial protocol.

    The settings are keys in the table `[[serial]]` of each port that uses the protocol.
    """

    device_prefix: ClassVar[str | None] = None
    """Prefix of the names that devices of this protocol send.

    If it is None, devices send no names. Their names then come from the port or the settings.
    """
    data_bits: ClassVar[tuple[int, ...]] = (7, 8)
    """Allowed numbers of data bits on a serial line with this protocol."""

    default_line: ClassVar[Line] = Line()
    """Line settings for a port whose table has neither `line` nor `baud_rate`."""

    has_several: ClassVar[bool] = False
    """True if a quantity may have several measurements, such as `gga/alt` in NMEA 0183."""
    can_wait: ClassVar[bool] = False
    """True if the sensors store their readings until the gateway acknowledges them.

    By default, a port with such sensors is not read while the outbox is full.
    """

    address_schemes: ClassVar[Mapping[str, str]] = {
        "tcp": "a serial server that passes on the bytes of a line",
        "rfc2217": "a serial server with RFC 2217",
    }
    """URL schemes allowed in the `address` of a port with this protocol, with descriptions."""

    has_parts: ClassVar[bool] = False
    """True if the devices are numbered parts of the port's device, such as MySensors nodes."""

    @property
    def is_asked(self) -> bool:
        """True if the bridge polls the devices, False if the devices send without being polled."""
        return False

    @property
    def units(self) -> tuple[str | None, ...]:
        """The units in the protocol's settings, or None for each quantity without a unit."""
        return ()

    @property
    def device_names(self) -> tuple[str, ...]:
        """The names of the devices in the settings. If it is empty, the port's name is used."""
        return ()

    def with_secrets(self, first_line_of: Callable[[str, str], str]) -> Self:
        """Return a copy of the settings with secrets read from the files that the settings name.

        `first_line_of(path, key)` returns the first line of a file. `key` is the name of the
        configuration key, for error messages. Raises ValueError if a file does not contain a valid
        secret.
        """
        return self

    def check_scheme(self, scheme: str | None) -> None:
        """Check that the settings are allowed with the URL scheme of the port's address.

        `scheme` is None if the port is a device file. If a setting is not allowed, this method
        raises the error from `quantities.refusal`.
        """

    def value_names(self, device: str) -> frozenset[str] | None:
        """Return the names of the values that are configured for a device.

        Return None if the names are not configured but come from the device's own messages.
        """
        return None


Protocols = Mapping[str, type[ProtocolSettings]]
"""The settings class of each protocol, by the protocol's name in the key `framing`."""
