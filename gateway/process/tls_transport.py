"""TLS between a socket and a protocol: a protocol to the socket, a transport to the protocol.

The broker's listeners and the page use it. OpenSSL works on two buffers in memory, so a connection
is counted and has deadlines from its first moment; asyncio's own TLS reports a connection only
after the handshake. The subclass decides when a handshake starts, and how to handle a peer that
violates TLS.
"""

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar, cast

READ_BYTES: Final = 64 * 1024
"""More than a record holds: one read from OpenSSL returns one record."""

P = TypeVar("P", bound=asyncio.Protocol)


class TlsTransport(asyncio.Transport, asyncio.Protocol, Generic[P]):
    """One TLS connection. Until the handshake is complete it can only be closed, not written to."""

    def __init__(self, protocol: P) -> None:
        super().__init__()
        self._protocol = protocol
        self._socket: asyncio.Transport
        self._received, self._to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls: ssl.SSLObject | None = None
        """None until the first bytes: a peer that only connects costs no more than without TLS."""
        self._is_established = False
        self._is_over = False
        """Nothing is decrypted or encrypted any more."""

    # -- towards the socket: a protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Report a new connection to the protocol, before its handshake."""
        self._socket = cast(asyncio.Transport, transport)
        self._protocol.connection_made(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Report that the connection is gone, whichever side ended it."""
        self._is_over = True
        protocol = self._protocol
        del self._protocol  # it has this object as its transport: a cycle
        protocol.connection_lost(exc)

    def pause_writing(self) -> None:
        """Report that the peer reads too slowly."""
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        """Report that the peer has caught up."""
        self._protocol.resume_writing()

    def _begin(self, context: ssl.SSLContext) -> ssl.SSLObject:
        """Start the handshake."""
        self._tls = context.wrap_bio(self._received, self._to_send, server_side=True)
        return self._tls

    def _take(self, tls: ssl.SSLObject, data: bytes) -> None:
        """Continue the handshake, and pass on the decrypted data.

        Raises:
            ssl.SSLError: the peer violates TLS. An alert with the reason may be flushed.
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
            self.close()  # the peer closed TLS: nothing more can come
        except ssl.SSLWantReadError:
            self._flush()

    def _flush(self) -> None:
        if self._to_send.pending:
            self._socket.write(self._to_send.read())

    # -- towards the protocol: a transport

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Encrypt and send data."""
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
        """Close after sending what was written."""
        self.end_before(lambda socket: socket.close())

    def end_before(self, close: Callable[[asyncio.Transport], None]) -> None:
        """End TLS, and pass the socket to `close`, which closes it."""
        if self._tls is not None and self._is_established and not self._is_over:
            # It asks for the peer's own end of TLS as well, which is not awaited.
            with contextlib.suppress(ssl.SSLError):
                self._tls.unwrap()
            self._flush()
        self._is_over = True
        close(self._socket)

    def abort(self) -> None:
        """Close immediately, without sending buffered data."""
        self._is_over = True
        self._socket.abort()

    def is_closing(self) -> bool:
        """Return True if the connection is closed or being closed."""
        return self._socket.is_closing()

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return information about the socket."""
        return self._socket.get_extra_info(name, default)
