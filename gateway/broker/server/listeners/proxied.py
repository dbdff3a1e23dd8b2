"""A connection through a proxy, which sends a PROXY header before the TLS or MQTT data.

When the proxy connects, the connection is counted towards the limits, and the timeout for CONNECT
starts. After the header, the connection is passed on to the next layer, and this module is no
longer involved.
"""

import asyncio
from typing import cast

from gateway.broker.access.certificates.peer_names import NoUser, checked_user
from gateway.broker.server.listeners.address_limits import AddressLimits, address_in
from gateway.broker.server.listeners.proxy_header import ProxyHeaderError, header_of
from gateway.broker.server.listeners.stream import MqttProtocol
from gateway.broker.server.listeners.tls import TlsLayer
from gateway.broker.wire.codes import CONNECTION_RATE_EXCEEDED, PROTOCOL_ERROR


class ProxiedProtocol(asyncio.Protocol):
    """Protocol that parses the PROXY header, then passes the connection on to the next layer.

    The next layer, `following`, is TLS or the MQTT protocol.
    """

    def __init__(
        self,
        protocol: MqttProtocol,
        following: MqttProtocol | TlsLayer,
        addresses: AddressLimits,
        *,
        takes_users: bool = False,
    ) -> None:
        """Set the protocol and the next layer.

        Args:
            protocol: the MQTT protocol of the connection.
            following: the layer that receives the data after the header.
            addresses: limits per client address, checked once the header has been received.
            takes_users: True to accept the user name in a client certificate that the proxy has
                verified.
        """
        self._protocol = protocol
        self._following = following
        self._addresses = addresses
        self._takes_users = takes_users
        self._received = b""
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport of the proxy's connection, and create the MQTT connection."""
        self._transport = cast(asyncio.Transport, transport)
        self._following.connection_made(transport)

    def data_received(self, data: bytes) -> None:
        """Parse received bytes until the PROXY header is complete.

        Pass any bytes after the header on to the next layer.
        """
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
            self._protocol.set_address_share(self._addresses, key)
        if refusal:
            self._refuse(f"[quotas] or a ban refuses {address}", refusal, CONNECTION_RATE_EXCEEDED)
        return bool(refusal)

    def _refuse(
        self, detail: str, reason: str = "proxy_header", reason_code: int = PROTOCOL_ERROR
    ) -> None:
        self._received = b""
        self._protocol.close_for(reason, detail, reason_code)
        self._transport.pause_reading()

    def connection_lost(self, exc: Exception | None) -> None:
        """Report to the next layer that the connection was lost before the header was complete."""
        self._following.connection_lost(exc)

    def pause_writing(self) -> None:
        """Report to the next layer that the peer reads too slowly."""
        self._following.pause_writing()

    def resume_writing(self) -> None:
        """Report to the next layer that the peer has read the buffered data."""
        self._following.resume_writing()
