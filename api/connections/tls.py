"""TLS layer between a visitor's socket and the HTTP code.

A TLS connection counts towards the limit on visitors as soon as it is opened. The time limit for
its first request begins at the same moment. If a browser uses plain HTTP, it gets an HTTP response
that advises using HTTPS.
"""

import asyncio
import ssl
from typing import Any, Final

from api.connections.certificate import ServedCertificate
from gateway.process.tls_transport import TlsTransport

_HANDSHAKE: Final = 0x16
"""First byte of a TLS connection: a handshake record (RFC 8446 section 5.1)."""

_WORDS: Final = b"This port speaks HTTPS: write https:// in front of the address.\n"
_USE_HTTPS: Final = (
    b"HTTP/1.1 400 Bad Request\r\n"
    b"Content-Type: text/plain; charset=utf-8\r\n"
    b"Content-Length: %d\r\n"
    b"Connection: close\r\n\r\n%b" % (len(_WORDS), _WORDS)
)


class TlsConnection(TlsTransport[asyncio.Protocol]):
    """A visitor's TLS connection.

    Before the handshake is complete, the HTTP code can close the connection but cannot write to it.
    """

    def __init__(self, http: asyncio.Protocol, certificate: ServedCertificate) -> None:
        super().__init__(http)
        self._certificate = certificate

    def data_received(self, data: bytes) -> None:
        """Process received bytes: handshake messages or encrypted records."""
        if self._is_over:
            return
        tls = self._tls
        if tls is None:
            if data[0] != _HANDSHAKE:
                self._is_over = True
                self._socket.write(_USE_HTTPS)
                self._socket.close()
                return
            tls = self._begin(self._certificate.context)
        try:
            self._take(tls, data)
        except ssl.SSLError:
            self._flush()  # send the TLS alert with the reason
            self._is_over = True
            self._socket.close()

    def pause_reading(self) -> None:
        """Stop reading from the socket, unless it is closing."""
        if not self._socket.is_closing():
            self._socket.pause_reading()

    def resume_reading(self) -> None:
        """Resume reading from the socket, unless it is closing."""
        if not self._socket.is_closing():
            self._socket.resume_reading()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return information about the connection, such as its TLS context (``sslcontext``)."""
        if name == "sslcontext":
            return self._certificate.context
        return super().get_extra_info(name, default)
