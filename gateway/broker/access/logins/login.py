"""Credentials and address of a client that logs in, and the network origin of its address."""

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, field, replace

LOOPBACK = "loopback"
LOCAL = "local"

IPV6_PREFIX = 64
"""Leading bits of an IPv6 address that identify its owner, who can use the whole /64 network."""


def _is_wanted() -> bool:
    return True


@dataclass(frozen=True, slots=True)
class Login:
    """Credentials of a client that wants to log in, and the client's address."""

    username: str
    """The user name in the packet; may be empty."""
    password: bytes | None = field(default=None, repr=False)
    """The password or token; None if the client sends a SCRAM proof."""
    client_id: str = ""
    listener: str = ""
    address: str = ""
    """`192.0.2.7:40000`, `[2001:db8::1]:40000`, or the name of a Unix socket's peer."""
    certificate: str | None = None
    """The user that a client certificate has already authenticated, if any."""
    is_wanted: Callable[[], bool] = field(default=_is_wanted, repr=False, compare=False)
    """Function that returns True while the client still waits for the result."""

    def of(self, username: str) -> "Login":
        """Return a copy of this login with another user name and without a password."""
        return replace(self, username=username, password=None)

    @property
    def origin(self) -> str:
        """The network origin of the client, as returned by `origin_of`."""
        return origin_of(self.address)


def host_of(address: str) -> str:
    """Return the host of "host:port" without brackets, or an empty string for a Unix socket."""
    host, colon, port = address.rpartition(":")
    if not colon or not port.isdigit():
        return ""
    return host.removeprefix("[").removesuffix("]").partition("%")[0]


def origin_of(address: str) -> str:
    """Return the network origin of a client's address.

    Addresses that one person can easily switch between have the same origin. The origin is the
    IPv4 address, the /64 network of an IPv6 address, `loopback`, or `local` for anything that is
    not an IP address.
    """
    try:
        host = ipaddress.ip_address(host_of(address))
    except ValueError:
        return LOCAL
    if host.version == 6 and host.ipv4_mapped is not None:
        host = host.ipv4_mapped
    if host.is_loopback:
        return LOOPBACK
    if host.version == 4:
        return str(host)
    return str(ipaddress.ip_network((host, IPV6_PREFIX), strict=False))
