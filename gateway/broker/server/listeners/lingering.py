"""Closes a connection while the client might still be sending data.

Closing a socket with unread data causes a TCP reset. The client then loses data that it has not
read yet, such as the reason for the close. Therefore the broker first shuts down only its sending
side. It continues to receive data and discards it until the client also stops sending or a limit is
reached.
"""

import asyncio
from typing import Final, cast

LINGER_SECONDS: Final = 1.0
"""Time for a client to read the last data and close the connection, in seconds. It is enough for a
round trip over a bad radio link."""

LINGER_BYTES_MAX: Final = 4 * 1024 * 1024
"""Maximum number of bytes discarded per client: the default size of a socket's send buffer in
Linux. A client that sends more is not waiting for a response."""


class LingeringClose(asyncio.Protocol):
    """Protocol that discards received data until the connection ends."""

    def __init__(self, transport: asyncio.Transport, protocol: asyncio.BaseProtocol) -> None:
        self._transport = transport
        self._protocol = protocol
        self._remaining_bytes = LINGER_BYTES_MAX

    def data_received(self, data: bytes) -> None:
        """Discard received data. Abort the connection after more than `LINGER_BYTES_MAX`."""
        self._remaining_bytes -= len(data)
        if self._remaining_bytes < 0:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the end of the connection to the original protocol."""
        cast(asyncio.Protocol, self._protocol).connection_lost(exc)


def linger_on(transport: asyncio.Transport) -> None:
    """Send buffered data and shut down sending, then discard input until the peer stops sending."""
    transport.set_protocol(LingeringClose(transport, transport.get_protocol()))
    try:
        transport.write_eof()
    except OSError:
        transport.abort()  # the peer is gone already
        return
    if not transport.is_reading():
        transport.resume_reading()
