"""A connection that a proxy makes for a client: the PROXY header first, then the protocol itself.

The connection counts, and its CONNECT is awaited, from the first moment. Once the header has come
the transport has the protocol itself, and nothing of this module is called any more.
"""

import asyncio
from typing import cast

from gateway.server.listeners.proxy_header import ProxyHeaderError, header_of
from gateway.server.listeners.stream import MqttProtocol


class ProxiedProtocol(asyncio.Protocol):
    """Reads the header for `protocol`, which has the transport afterwards."""

    def __init__(self, protocol: MqttProtocol) -> None:
        self._protocol = protocol
        self._received = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take over the transport: the proxy connected."""
        self._transport = cast(asyncio.Transport, transport)
        self._protocol.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Take bytes that arrived: a part of the header, or all of it and what follows."""
        self._received += data
        try:
            header = header_of(self._received)
        except ProxyHeaderError as error:
            self._received = b""
            self._protocol.violate("proxy_header", str(error))
            self._transport.pause_reading()
            return
        if header is None:
            return
        if header.address is not None:
            self._protocol.connection.address = header.address
        rest = self._received[header.length_bytes :]
        self._transport.set_protocol(self._protocol)
        if rest:
            self._protocol.data_received(rest)

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass on that the connection is gone before its header was whole."""
        self._protocol.connection_lost(exc)

    def pause_writing(self) -> None:
        """Pass on that the peer reads too slowly."""
        self._protocol.pause_writing()

    def resume_writing(self) -> None:
        """Pass on that the peer has caught up."""
        self._protocol.resume_writing()
