"""TLS between the socket and HTTP: to the socket a protocol, to HTTP a transport.

OpenSSL works on two buffers in memory, so that a connection has its place among the visitors, and
its head a deadline, from the first moment on: asyncio's own TLS would make a connection of it
after the handshake only, and hold any number of those that never end one.

A browser that speaks HTTP here gets an answer in HTTP that names HTTPS.
"""

import asyncio
import contextlib
import ssl
from typing import Any, Final, cast

from api.certificate import ServedCertificate

_HANDSHAKE: Final = 0x16
"""The first byte of TLS: a record of a handshake (RFC 8446 section 5.1)."""

_READ_BYTES: Final = 64 * 1024
"""More than a record holds: one read of OpenSSL gives one record."""

_WORDS: Final = b"This port speaks HTTPS: write https:// in front of the address.\n"
_USE_HTTPS: Final = (
    b"HTTP/1.1 400 Bad Request\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\n"
    b"Content-Length: %d\r\n"
    b"Connection: close\r\n\r\n%b" % (len(_WORDS), _WORDS)
)


class TlsConnection(asyncio.Transport, asyncio.Protocol):
    """One connection. Before its handshake is over nothing can be written, only closed."""

    def __init__(self, http: asyncio.Protocol, certificate: ServedCertificate) -> None:
        super().__init__()
        self._http = http
        self._certificate = certificate
        self._socket: asyncio.Transport
        self._received, self._to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls: ssl.SSLObject | None = None
        self._is_established = False
        self._is_over = False

    # -- towards the socket: a protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Give the visitor a place from now on."""
        self._socket = cast(asyncio.Transport, transport)
        self._http.connection_made(self)

    def data_received(self, data: bytes) -> None:
        """Take bytes that arrived: of the handshake, or records."""
        if self._is_over:
            return
        if self._tls is None:
            if data[0] != _HANDSHAKE:
                self._is_over = True
                self._socket.write(_USE_HTTPS)
                self._socket.close()
                return
            context = self._certificate.context
            self._tls = context.wrap_bio(self._received, self._to_send, server_side=True)
        self._received.write(data)
        try:
            if not self._is_established:
                self._tls.do_handshake()
                self._is_established = True
            while part := self._tls.read(_READ_BYTES):
                self._http.data_received(part)
                if self._is_over:
                    return
            self.close()  # the visitor closed TLS: nothing more can come
        except ssl.SSLWantReadError:
            self._flush()
        except ssl.SSLError:
            self._flush()  # the alert with the reason
            self._is_over = True
            self._socket.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass on that the connection is gone, whichever side ended it."""
        self._is_over = True
        self._http.connection_lost(exc)

    def pause_writing(self) -> None:
        """Pass on that the visitor reads too slowly."""
        self._http.pause_writing()

    def resume_writing(self) -> None:
        """Pass on that the visitor has caught up."""
        self._http.resume_writing()

    # -- towards HTTP: a transport

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Encrypt and send."""
        if self._tls is None or not self._is_established or self._is_over:
            return
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._tls.write(rest) :]
        except ssl.SSLError:
            self.abort()  # the visitor ended TLS with an alert
            return
        self._flush()

    def close(self) -> None:
        """Close when what was written has been sent."""
        if self._tls is not None and self._is_established and not self._is_over:
            # It asks for the visitor's own end of TLS as well, which is not awaited.
            with contextlib.suppress(ssl.SSLError):
                self._tls.unwrap()
            self._flush()
        self._is_over = True
        self._socket.close()

    def abort(self) -> None:
        """Close without sending what was written."""
        self._is_over = True
        self._socket.abort()

    def is_closing(self) -> bool:
        """Return whether the connection is closed or being closed."""
        return self._socket.is_closing()

    def pause_reading(self) -> None:
        """Read nothing for now."""
        if not self._socket.is_closing():
            self._socket.pause_reading()

    def resume_reading(self) -> None:
        """Read on."""
        if not self._socket.is_closing():
            self._socket.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return what the socket knows, and that this is TLS."""
        if name == "sslcontext":
            return self._certificate.context
        return self._socket.get_extra_info(name, default)

    def _flush(self) -> None:
        if self._to_send.pending:
            self._socket.write(self._to_send.read())
