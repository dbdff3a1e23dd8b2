"""Properties of a serial protocol that the configuration needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

from gateway.process.declarations.section import Section
from gateway.process.declarations.serial_line import Line


@dataclass(frozen=True, kw_only=True)
class ProtocolSettings(Section):
    """The keys of one protocol. In the file they are in the port's own table, `[[serial]]`."""

    device_prefix: ClassVar[str | None] = None
    """Prefix of the names that devices of this protocol have themselves; None: they have none, and
    the port or the protocol's settings name them."""
    data_bits: ClassVar[tuple[int, ...]] = (7, 8)
    """Data bits with which the protocol works."""

    default_line: ClassVar[Line] = Line()
    """The line where the port's table has neither `line` nor `baud_rate`."""

    has_several: ClassVar[bool] = False
    """True if a quantity has several measurements: `gga` of NMEA 0183 has `gga/alt`."""
    can_wait: ClassVar[bool] = False
    """True if its sensors keep unacknowledged readings: then the port is not read while the outbox
    is full, unless its `when_full` is set."""

    address_schemes: ClassVar[Mapping[str, str]] = {
        "tcp": "a serial server that passes on the bytes of a line",
        "rfc2217": "a serial server with RFC 2217",
    }
    """URL schemes allowed in the `address` of a port with this protocol, with their meaning."""

    has_parts: ClassVar[bool] = False
    """True if its devices are numbered parts of the port's own device, such as nodes of
    MySensors."""

    @property
    def is_asked(self) -> bool:
        """True if the bridge polls the devices; if not, they send by themselves."""
        return False

    @property
    def units(self) -> tuple[str | None, ...]:
        """The units in these settings."""
        return ()

    @property
    def device_names(self) -> tuple[str, ...]:
        """The devices in these settings. Empty: the port itself is the only device."""
        return ()

    def with_secrets(self, first_line_of: Callable[[str, str], str]) -> Self:
        """Return the settings with the secrets of the files that they name.

        `first_line_of` takes a path and the key that names it. Raises `ValueError` for a file
        without a usable secret.
        """
        return self

    def check_scheme(self, scheme: str | None) -> None:
        """Reject keys that the scheme of the port's address excludes. None: a serial line."""

    def value_names(self, device: str) -> frozenset[str] | None:
        """Return the value names configured for a device.

        None: the device's messages contain them.
        """
        return None


Protocols = Mapping[str, type[ProtocolSettings]]
"""The settings of every protocol, by its name in `framing`."""
