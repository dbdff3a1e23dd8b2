"""Closing of connections by the broker while the client may still be sending.

Closing a socket with unread bytes causes a TCP reset, and the client loses what it has not read
yet: the reason. Therefore our side is shut down first. Received data is then read and discarded
until the client closes its side, within limits.
"""

import asyncio
from typing import Final, cast

LINGER_SECONDS: Final = 1.0
"""Time for a client to read the reason and close: a round trip over a bad radio link."""

LINGER_BYTES_MAX: Final = 4 * 1024 * 1024
"""Bytes read and discarded from one client, at most: the send buffer of its socket, as large as
Linux makes it by default. A client that sends more is not waiting for an answer."""


class LingeringClose(asyncio.Protocol):
    """Discards the data received for `protocol`, which is only informed of the connection's end."""

    def __init__(self, transport: asyncio.Transport, protocol: asyncio.BaseProtocol) -> None:
        self._transport = transport
        self._protocol = protocol
        self._remaining_bytes = LINGER_BYTES_MAX

    def data_received(self, data: bytes) -> None:
        """Discard received bytes."""
        self._remaining_bytes -= len(data)
        if self._remaining_bytes < 0:
            self._transport.abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """Report that the connection is gone."""
        cast(asyncio.Protocol, self._protocol).connection_lost(exc)


def linger_on(transport: asyncio.Transport) -> None:
    """Send what is buffered, shut down our side, and discard input until the peer closes."""
    transport.set_protocol(LingeringClose(transport, transport.get_protocol()))
    try:
        transport.write_eof()
    except OSError:
        transport.abort()  # the peer is gone already
        return
    if not transport.is_reading():
        transport.resume_reading()
