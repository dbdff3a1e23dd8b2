"""TLS between a socket's transport and an asyncio protocol, for the broker and the status page.

asyncio's own TLS reports a connection only after the TLS handshake. This module reports a
connection before the handshake, so that it is counted and has a timeout from the beginning. OpenSSL
works on two buffers in memory. A subclass decides when the handshake starts, and what happens if
the peer violates the TLS protocol.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar, cast

READ_BYTES: Final = 64 * 1024
"""Bytes requested per read from OpenSSL. A TLS record is shorter, so a read returns one record."""

P = TypeVar("P", bound=asyncio.Protocol)


class TlsTransport(asyncio.Transport, asyncio.Protocol, Generic[P]):
    """The server side of one TLS connection.

    This object is a protocol for the socket's transport, and a transport for the application's
    protocol. Data that is written before the handshake is complete is discarded.
    """

    def __init__(self, protocol: P) -> None:
        super().__init__()
        self._protocol = protocol
        self._socket: asyncio.Transport
        self._received, self._to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls: ssl.SSLObject | None = None
        """The TLS state, or None before the first bytes, so that idle connections cost little."""
        self._is_established = False
        self._is_over = False
        """True if the connection is closing, so that no more data is decrypted or encrypted."""

    # -- towards the socket: a protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Notify the protocol of a new connection, before the TLS handshake."""
        self._socket = cast(asyncio.Transport, transport)
        self._protocol.connection_made(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Notify the protocol that either side has closed the connection."""
        self._is_over = True
        protocol = self._protocol
        del self._protocol  # it refers to this object: a reference cycle
        protocol.connection_lost(exc)

    def pause_writing(self) -> None:
        """Notify the protocol that it must stop writing, because the peer reads too slowly."""
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        """Notify the protocol that it can continue writing."""
        self._protocol.resume_writing()

    def _begin(self, context: ssl.SSLContext) -> ssl.SSLObject:
        """Prepare TLS for this connection with the server's settings in `context`.

        The handshake begins when `_take` processes the first bytes.
        """
        self._tls = context.wrap_bio(self._received, self._to_send, server_side=True)
        return self._tls

    def _take(self, tls: ssl.SSLObject, data: bytes) -> None:
        """Process received bytes: continue the handshake, then pass decrypted data to the protocol.

        Raises:
            ssl.SSLError: if the peer violates the TLS protocol. A call of `_flush` then sends an
                alert with the reason.
        """
        self._received.write(data)
        try:
            if not self._is_established:
                tls.do_handshake()
                self._is_established = True
            while part := tls.read(READ_BYTES):
                self._protocol.data_received(part)
                if self._is_over:
                    return
            self.close()  # The peer has closed TLS, so no more data can arrive.
        except ssl.SSLWantReadError:
            self._flush()

    def _flush(self) -> None:
        if self._to_send.pending:
            self._socket.write(self._to_send.read())

    # -- towards the protocol: a transport

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Encrypt and send data. Before the handshake and after the close, data is discarded."""
        if self._tls is None or not self._is_established or self._is_over:
            return
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._tls.write(rest) :]
        except ssl.SSLError:
            self.abort()  # the peer ended TLS with an alert
            return
        self._flush()

    def close(self) -> None:
        """Close the connection after all written data has been sent."""
        self.end_before(lambda socket: socket.close())

    def end_before(self, close: Callable[[asyncio.Transport], None]) -> None:
        """End TLS with the alert close_notify, and then close the socket with the function `close`.

        The argument of `close` is the socket's transport.
        """
        if self._tls is not None and self._is_established and not self._is_over:
            # unwrap also expects the peer's end of TLS, but this is not awaited.
            with contextlib.suppress(ssl.SSLError):
                self._tls.unwrap()
            self._flush()
        self._is_over = True
        close(self._socket)

    def abort(self) -> None:
        """Close the connection immediately, without sending buffered data."""
        self._is_over = True
        self._socket.abort()

    def is_closing(self) -> bool:
        """Return True if the connection is closed or is being closed."""
        return self._socket.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return information about the connection from the socket's transport."""
        return self._socket.get_extra_info(name, default)
