"""Checks a new connection against the limits per client address and per listener.

The check takes place before TLS and does not involve the broker core. An accepted connection is
passed on to the next protocol layer.
"""

import asyncio
from collections.abc import Callable
from typing import Final, cast

from gateway.broker.core.statistics import Statistics
from gateway.broker.core.token_bucket import TokenBucket
from gateway.broker.server.listeners.address_limits import (
    LISTENER_RATE_REFUSED,
    AddressLimits,
    address_of,
)
from gateway.broker.server.listeners.stream import MqttProtocol

NO_DESCRIPTOR: Final = "max_connections"
"""Reason name for a refused connection that would use a file descriptor reserved for files."""

Make = Callable[[], tuple[MqttProtocol, asyncio.Protocol]]
"""A function that creates the MQTT protocol of a connection and the connection's first layer, which
is the MQTT protocol itself, TLS, or the PROXY header."""


class GateLimits:
    """The limits for new connections to one listener."""

    def __init__(
        self,
        statistics: Statistics,
        addresses: AddressLimits | None,
        bucket: TokenBucket | None,
        listener: str,
        has_descriptor: Callable[[], bool],
    ) -> None:
        """Set the limits and the counters.

        Args:
            statistics: counters for rejected connections.
            addresses: limits per client address. None if all connections come from this machine or
                through a proxy, because the proxy's own address must not be limited.
            bucket: limit on new connections per second to this listener, or None if unlimited.
            listener: name of the listener in log messages.
            has_descriptor: function that returns False if no file descriptor is left for another
                connection.
        """
        self.statistics = statistics
        self.addresses = addresses
        self.bucket = bucket
        self.listener = listener
        self.has_descriptor = has_descriptor


class Gate(asyncio.Protocol):
    """A new connection, which is rejected or passed on to its first protocol layer.

    The first layer handles the PROXY header, TLS, or the MQTT protocol.
    """

    def __init__(self, limits: GateLimits, make: Make) -> None:
        """Set the limits. `make` creates the protocol objects for an accepted connection."""
        self._limits = limits
        self._make = make

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Check the limits, and accept or reject the new connection."""
        limits = self._limits
        now = asyncio.get_running_loop().time()
        refusal, key = "", ""
        if limits.bucket is not None and not limits.bucket.take(now):
            refusal = LISTENER_RATE_REFUSED
            limits.statistics.note(f"connection at {limits.listener} refused: {refusal} reached")
        elif limits.addresses is not None:
            peer = transport.get_extra_info("peername")
            address = address_of(str(peer[0])) if isinstance(peer, tuple) and peer else None
            refusal, key = limits.addresses.enter(address, now)
        if not refusal and not limits.has_descriptor():
            refusal = NO_DESCRIPTOR
        if refusal:
            if key and limits.addresses is not None:
                limits.addresses.leave(key, now)
            limits.statistics.count_error(refusal)
            cast(asyncio.Transport, transport).abort()
            return
        protocol, following = self._make()
        cast(asyncio.Transport, transport).set_protocol(following)
        following.connection_made(transport)
        if key and limits.addresses is not None:
            protocol.set_address_share(limits.addresses, key)
