"""What a connection meets first: limits that need nothing of it but where it comes from.

It stands before TLS and before the core. A connection that is let in has its protocol from then on,
and nothing of this module is called any more.
"""

import asyncio
from collections.abc import Callable
from typing import Final, cast

from gateway.core.statistics import Statistics
from gateway.core.token_bucket import TokenBucket
from gateway.server.listeners.address_limits import (
    LISTENER_RATE_REFUSED,
    AddressLimits,
    address_of,
)
from gateway.server.listeners.stream import MqttProtocol

NO_DESCRIPTOR: Final = "max_connections"
"""How a connection is counted that would leave no descriptor for files."""

Make = Callable[[], tuple[MqttProtocol, asyncio.Protocol]]
"""Makes the protocol of a connection, and what comes before it: itself, TLS, or a PROXY header."""


class Gatekeeping:
    """What holds at one listener."""

    def __init__(
        self,
        statistics: Statistics,
        addresses: AddressLimits | None,
        bucket: TokenBucket | None,
        listener: str,
        has_descriptor: Callable[[], bool],
    ) -> None:
        """Args:
        addresses: None: connections come from a proxy, whose own address counts for nothing, or
            from this machine.
        has_descriptor: returns whether the process can have one more connection.
        bucket: new connections a second at this listener; None: as many as come.
        """
        self.statistics = statistics
        self.addresses = addresses
        self.bucket = bucket
        self.listener = listener
        self.has_descriptor = has_descriptor


class Gate(asyncio.Protocol):
    """Refuses a connection, or gives it to what follows: a PROXY header, TLS, or the protocol."""

    def __init__(self, keeping: Gatekeeping, make: Make) -> None:
        """`make` is called for a connection that is let in."""
        self._keeping = keeping
        self._make = make

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Decide about a connection."""
        keeping = self._keeping
        now = asyncio.get_running_loop().time()
        refusal, key = "", ""
        if keeping.bucket is not None and not keeping.bucket.take(now):
            refusal = LISTENER_RATE_REFUSED
            keeping.statistics.note(f"connection at {keeping.listener} refused: {refusal} reached")
        elif keeping.addresses is not None:
            peer = transport.get_extra_info("peername")
            address = address_of(str(peer[0])) if isinstance(peer, tuple) and peer else None
            refusal, key = keeping.addresses.enter(address, now)
        if not refusal and not keeping.has_descriptor():
            refusal = NO_DESCRIPTOR
        if refusal:
            if key and keeping.addresses is not None:
                keeping.addresses.leave(key, now)
            keeping.statistics.count_error(refusal)
            cast(asyncio.Transport, transport).abort()
            return
        protocol, following = self._make()
        cast(asyncio.Transport, transport).set_protocol(following)
        following.connection_made(transport)
        if key and keeping.addresses is not None:
            protocol.counts_at(keeping.addresses, key)
