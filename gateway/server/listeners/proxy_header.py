"""The header of the PROXY protocol, version 2: the client that a proxy in front of us connects for.

A header (integers big-endian), sent once by the proxy before the first byte of its client::

    0D 0A 0D 0A 00 0D 0A 51 55 49 54 0A | version and command u8 | family and transport u8 |
    length u16 | addresses, then type-length-value fields: length bytes

    addresses   IPv4: source 4, destination 4, source port u16, destination port u16
                IPv6: source 16, destination 16, source port u16, destination port u16
                Unix: source 108, destination 108, ended by 0

Source: proxy-protocol.txt of HAProxy, section 2.2. The fields behind the addresses are skipped, as
that text allows. A process that may connect to such a listener can claim any address: it belongs on
loopback, or behind a firewall that lets only the proxy through.
"""

import ipaddress
import struct
from typing import Final

SIGNATURE: Final = b"\r\n\r\n\x00\r\nQUIT\n"
FIXED_BYTES: Final = 16

HEADER_BYTES_MAX: Final = 4_096
"""A header is below 300 bytes; one with the client's certificate in it may have some kilobytes."""

LOCAL: Final = 0x20
PROXY: Final = 0x21
UNSPECIFIED: Final = 0x00
IPV4_STREAM: Final = 0x11
IPV6_STREAM: Final = 0x21
UNIX_STREAM: Final = 0x31
ADDRESS_BYTES: Final = {UNSPECIFIED: 0, IPV4_STREAM: 12, IPV6_STREAM: 36, UNIX_STREAM: 216}
UNIX_PATH_BYTES: Final = 108


class ProxyHeaderError(Exception):
    """What came is no header of the PROXY protocol that can be accepted."""


class ProxyHeader:
    """A header: its length, and the client's address (None: it is the proxy's own connection)."""

    def __init__(self, length_bytes: int, address: str | None, user: str | None = None) -> None:
        self.length_bytes = length_bytes
        self.address = address
        self.user = user
        """The common name of the client's certificate, which the proxy has verified."""


def header_of(received: bytes) -> ProxyHeader | None:
    """Return the header that `received` begins with, or None while there is not all of it.

    Raises ProxyHeaderError as soon as it can be none, whatever may still come.
    """
    start = received[: len(SIGNATURE)]
    if start != SIGNATURE[: len(start)]:
        raise ProxyHeaderError(
            f"expected a header of the PROXY protocol version 2, received {start!r}"
        )
    if len(received) < FIXED_BYTES:
        return None
    command, family, length = struct.unpack_from(">BBH", received, len(SIGNATURE))
    if command not in (LOCAL, PROXY):
        raise ProxyHeaderError(f"PROXY version and command {command:#04x}, expected 0x20 or 0x21")
    total = FIXED_BYTES + length
    if total > HEADER_BYTES_MAX:
        raise ProxyHeaderError(f"a PROXY header of {total} bytes, at most {HEADER_BYTES_MAX}")
    if command == PROXY and family not in ADDRESS_BYTES:
        raise ProxyHeaderError(f"PROXY address family {family:#04x}, expected a stream's")
    if command == PROXY and length < ADDRESS_BYTES[family]:
        raise ProxyHeaderError(f"PROXY addresses of {length} bytes, too short for {family:#04x}")
    if len(received) < total:
        return None
    # The proxy's own connection, a health check for example: its addresses mean nothing.
    address = _address_of(family, received[FIXED_BYTES:total]) if command == PROXY else None
    return ProxyHeader(total, address)


def _address_of(family: int, data: bytes) -> str | None:
    if family == IPV4_STREAM:
        (port,) = struct.unpack_from(">H", data, 8)
        return f"{ipaddress.IPv4Address(data[:4])}:{port}"
    if family == IPV6_STREAM:
        (port,) = struct.unpack_from(">H", data, 32)
        return f"[{ipaddress.IPv6Address(data[:16])}]:{port}"
    if family == UNIX_STREAM:
        path = data[:UNIX_PATH_BYTES].split(b"\0", 1)[0]
        # It goes into the log: line ends and the like as escapes.
        return path.decode("latin-1").encode("unicode_escape").decode() or None
    return None
