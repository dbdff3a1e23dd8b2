"""The PROXY protocol header, in which a proxy states the address of its client.

The proxy sends the header once, before the client's first byte. A header of version 2 has these
fields. `u8`, `u16` and `u32` are big-endian integers, and other numbers are sizes in bytes::

    0D 0A 0D 0A 00 0D 0A 51 55 49 54 0A | version and command u8 | family and transport u8 |
    length u16 | addresses, then type-length-value fields: length bytes

    addresses   IPv4: source 4, destination 4, source port u16, destination port u16
                IPv6: source 16, destination 16, source port u16, destination port u16
                Unix: source 108, destination 108, ended by 0

    fields      type u8 | length u16 | value
    0x20, SSL   client u8 (1: TLS, 2 or 4: with a certificate) | verify u32 (0: verified) | fields,
                of which 0x22 is the common name of the certificate

A header of version 1 is a line of at most 107 bytes::

    PROXY TCP4 192.0.2.7 10.0.0.1 40000 1883
     (or TCP6, or UNKNOWN with anything)

Source: HAProxy's proxy-protocol.txt, sections 2.1 and 2.2. Other fields are skipped, as the
specification allows. If a listener expects PROXY headers, any process that can connect to it can
claim any address. Therefore the listener must use a loopback address, or a firewall must admit only
the proxy.
"""

import ipaddress
import struct
from collections.abc import Mapping
from typing import Final

SIGNATURE: Final = b"\r\n\r\n\x00\r\nQUIT\n"
FIXED_BYTES: Final = 16

LINE_BEGIN: Final = b"PROXY "
LINE_BYTES_MAX: Final = 107
"""Maximum length of a version 1 header according to the specification."""

_SSL_FIELD, _COMMON_NAME_FIELD = 0x20, 0x22
_WITH_CERTIFICATE: Final = 0x02 | 0x04
_VERIFIED: Final = 0
_FIELD_BYTES, _SSL_BYTES = 3, 5
_IN_LINES: Final[Mapping[bytes, type[ipaddress.IPv4Address] | type[ipaddress.IPv6Address]]] = {
    b"TCP4": ipaddress.IPv4Address,
    b"TCP6": ipaddress.IPv6Address,
}

HEADER_BYTES_MAX: Final = 4_096
"""Maximum length of a header. Most have less than 300 bytes; with the client's certificate a header
may have some kilobytes."""

LOCAL: Final = 0x20
PROXY: Final = 0x21
UNSPECIFIED: Final = 0x00
IPV4_STREAM: Final = 0x11
IPV6_STREAM: Final = 0x21
UNIX_STREAM: Final = 0x31
ADDRESS_BYTES: Final = {UNSPECIFIED: 0, IPV4_STREAM: 12, IPV6_STREAM: 36, UNIX_STREAM: 216}
UNIX_PATH_BYTES: Final = 108


class ProxyHeaderError(Exception):
    """Error raised if the received bytes are not an acceptable PROXY header."""


class ProxyHeader:
    """A parsed PROXY header. `address` is the client's address, or None if the header has none."""

    def __init__(self, length_bytes: int, address: str | None, user: str | None = None) -> None:
        self.length_bytes = length_bytes
        self.address = address
        self.user = user
        """The common name of the client's certificate, which the proxy has verified, or None."""


def header_of(received: bytes) -> ProxyHeader | None:
    """Parse the header at the start of `received`, or return None if the header is incomplete.

    Raises ProxyHeaderError as soon as the bytes cannot become a valid header.
    """
    if received and LINE_BEGIN.startswith(received[: len(LINE_BEGIN)]):
        return _line_of(received)
    start = received[: len(SIGNATURE)]
    if start != SIGNATURE[: len(start)]:
        raise ProxyHeaderError(f"expected a header of the PROXY protocol, received {start!r}")
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
    # The proxy's own connection, such as a health check: its addresses mean nothing.
    if command != PROXY:
        return ProxyHeader(total, None)
    data = received[FIXED_BYTES:total]
    user = _user_in(data[ADDRESS_BYTES[family] :])
    return ProxyHeader(total, _address_of(family, data), user)


def _line_of(received: bytes) -> ProxyHeader | None:
    """Parse a PROXY header of version 1, or return None if the header is incomplete.

    Raises ProxyHeaderError if the line is invalid.
    """
    end = received.find(b"\r\n", 0, LINE_BYTES_MAX)
    if end < 0:
        if len(received) >= LINE_BYTES_MAX:
            raise ProxyHeaderError(f"a PROXY line of more than {LINE_BYTES_MAX} bytes")
        return None
    _, family, *words = received[:end].split(b" ")
    if family == b"UNKNOWN":
        return ProxyHeader(end + 2, None)
    try:
        source, _, port, _ = (word.decode("ascii") for word in words)
        address = _IN_LINES[family](source)
        number = int(port) if port.isdecimal() and len(port) <= 5 else -1
        if not 0 <= number <= 65_535:
            raise ValueError(port)
    except (KeyError, ValueError):
        raise ProxyHeaderError(f"PROXY line {received[:end]!r}, expected TCP4 or TCP6") from None
    host = f"[{address}]" if address.version == 6 else str(address)
    return ProxyHeader(end + 2, f"{host}:{number}")


def _user_in(fields: bytes) -> str | None:
    """Return the common name of a client certificate that the proxy has verified.

    `fields` are the type-length-value fields of the PROXY header. Return None if they contain no
    such name.
    """
    ssl = _field_in(fields, _SSL_FIELD)
    if ssl is None or len(ssl) < _SSL_BYTES:
        return None
    client, verify = struct.unpack_from(">BI", ssl)
    if not client & _WITH_CERTIFICATE or verify != _VERIFIED:
        return None
    name = _field_in(ssl[_SSL_BYTES:], _COMMON_NAME_FIELD)
    try:
        return None if name is None else name.decode()
    except UnicodeDecodeError:
        return None


def _field_in(fields: bytes, wanted: int) -> bytes | None:
    """Return the value of the first field with the type `wanted`.

    Return None if the field is missing or truncated.
    """
    position = 0
    while position + _FIELD_BYTES <= len(fields):
        kind, length = struct.unpack_from(">BH", fields, position)
        position += _FIELD_BYTES
        if kind == wanted and position + length <= len(fields):
            return fields[position : position + length]
        position += length
    return None


def _address_of(family: int, data: bytes) -> str | None:
    if family == IPV4_STREAM:
        (port,) = struct.unpack_from(">H", data, 8)
        return f"{ipaddress.IPv4Address(data[:4])}:{port}"
    if family == IPV6_STREAM:
        (port,) = struct.unpack_from(">H", data, 32)
        return f"[{ipaddress.IPv6Address(data[:16])}]:{port}"
    if family == UNIX_STREAM:
        path = data[:UNIX_PATH_BYTES].split(b"\0", 1)[0]
        # It is logged, so line breaks and the like are escaped.
        return path.decode("latin-1").encode("unicode_escape").decode() or None
    return None
