"""The base class for the settings of serial protocols."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from gateway.process.declarations.section import Section
from gateway.process.declarations.serial_line import Line


@dataclass(frozen=True, kw_only=True)
class ProtocolSettings(Section):
    """Base class for the settings of one serial protocol.

    The settings are keys in the `[[serial]]` table of each port that uses the protocol.
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
    def is_binary(self) -> bool:
        """True if a frame may contain any byte, also XON and XOFF."""
        return False

    @property
    def allowed_data_bits(self) -> tuple[int, ...]:
        """Allowed numbers of data bits with these settings, which may be fewer than `data_bits`."""
        return self.data_bits

    @property
    def is_polled(self) -> bool:
        """True if the bridge polls the devices, False if the devices send without being polled."""
        return False

    @property
    def units(self) -> tuple[str | None, ...]:
        """All units in the settings, with None for each quantity that has no unit."""
        return ()

    @property
    def device_names(self) -> tuple[str, ...]:
        """The device names in the settings. If there are none, the port's name is used instead."""
        return ()

    def with_secrets(self, first_line_of: Callable[[str, str], str]) -> Self:
        """Return a copy of the settings with the secrets from the files that the settings name.

        The function `first_line_of(path, key)` returns the first line of a file. Its argument `key`
        is the configuration key, for error messages. Raises ValueError if a file does not contain a
        valid secret.
        """
        return self

    def check_scheme(self, scheme: str | None) -> None:
        """Check that the settings are allowed for a port whose address has the URL scheme `scheme`.

        `scheme` is None if the port is a device file. Raises the error from `quantities.refusal` if
        a setting is not allowed.
        """

    def value_names(self, device: str) -> frozenset[str] | None:
        """Return the names that the configuration gives to the values of `device`.

        Return None if the device's own messages contain the names.
        """
        return None


Protocols = Mapping[str, type[ProtocolSettings]]
"""The settings class of each protocol, keyed by the protocol's name in the key `framing`."""
