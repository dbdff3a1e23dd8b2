"""A connection that a proxy makes for a client: the PROXY header first, then TLS or the protocol.

The connection counts, and its CONNECT is awaited, from the first moment. Once the header has come
the transport has what follows it, and nothing of this module is called any more.
"""

import asyncio
from typing import cast

from gateway.access.peer_names import NoUser, checked_user
from gateway.server.listeners.address_limits import AddressLimits, address_in
from gateway.server.listeners.proxy_header import ProxyHeaderError, header_of
from gateway.server.listeners.stream import MqttProtocol
from gateway.server.listeners.tls import TlsLayer
from gateway.wire.codes import CONNECTION_RATE_EXCEEDED, PROTOCOL_ERROR


class ProxiedProtocol(asyncio.Protocol):
    """Reads the header; `following` has the transport afterwards: TLS, or the protocol itself."""

    def __init__(
        self,
        protocol: MqttProtocol,
        following: MqttProtocol | TlsLayer,
        addresses: AddressLimits,
        *,
        takes_users: bool = False,
    ) -> None:
        """Args:
        addresses: at which connections count once the header has named their address.
        takes_users: the proxy is believed whom a client's certificate named.
        """
        self._protocol = protocol
        self._following = following
        self._addresses = addresses
        self._takes_users = takes_users
        self._received = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take over the transport: the proxy connected."""
        self._transport = cast(asyncio.Transport, transport)
        self._following.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Take bytes that arrived: a part of the header, or all of it and what follows."""
        self._received += data
        try:
            header = header_of(self._received)
        except ProxyHeaderError as error:
            self._refuse(str(error))
            return
        if header is None:
            return
        if header.address is not None:
            self._protocol.connection.address = header.address
            if self._exceeds_limits(header.address):
                return
        if self._takes_users and header.user is not None:
            try:
                self._protocol.connection.proven_user = checked_user(header.user)
            except NoUser as error:
                self._refuse(str(error))
                return
        rest = self._received[header.length_bytes :]
        self._transport.set_protocol(self._following)
        if rest:
            self._following.data_received(rest)

    def _exceeds_limits(self, address: str) -> bool:
        now = asyncio.get_running_loop().time()
        refusal, key = self._addresses.enter(address_in(address), now)
        if key:
            self._protocol.counts_at(self._addresses, key)
        if refusal:
            self._refuse(f"[quotas] or a ban refuses {address}", refusal, CONNECTION_RATE_EXCEEDED)
        return bool(refusal)

    def _refuse(
        self, detail: str, reason: str = "proxy_header", reason_code: int = PROTOCOL_ERROR
    ) -> None:
        self._received = b""
        self._protocol.violate(reason, detail, reason_code)
        self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Pass on that the connection is gone before its header was whole."""
        self._following.connection_lost(exc)

    def pause_writing(self) -> None:
        """Pass on that the peer reads too slowly."""
        self._following.pause_writing()

    def resume_writing(self) -> None:
        """Pass on that the peer has caught up."""
        self._following.resume_writing()
