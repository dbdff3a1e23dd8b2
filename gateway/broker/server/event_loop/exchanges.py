"""Enhanced authentication exchanges that are in progress. Their number is limited.

When the limit is reached, the oldest exchange from the address with the most exchanges is
cancelled. Therefore a client that starts a thousand exchanges harms only clients at its own
address.
"""

import asyncio

from gateway.broker.access.users.source import Exchange
from gateway.broker.core.sessions.connection import Connection, ConnectionState

EXCHANGES_MAX = 1_000
"""Maximum number of concurrent exchanges. They take some 20 MB at worst, if each client sends the
longest user name. When many devices reconnect, each needs a few round trips. Beyond the maximum,
a client is asked to try again."""

EXCHANGES_OF_AN_ADDRESS_MAX = 500
"""Maximum number of exchanges from one IPv4 address or one IPv6 /64 network. It is half of the
total, for a fleet of devices that share one router."""


class Waiting:
    """An authentication exchange, the address it came from, and the timer that ends it."""

    def __init__(self, exchange: Exchange, origin: str, deadline: asyncio.TimerHandle) -> None:
        self.exchange = exchange
        self.origin = origin
        self.deadline = deadline


class Exchanges:
    """The authentication exchanges that are not complete yet, with at most one per connection."""

    def __init__(self) -> None:
        self._waiting: dict[Connection, Waiting] = {}
        self._by_origin: dict[str, dict[Connection, None]] = {}

    def __len__(self) -> int:
        """Return the number of authentication exchanges that are not complete."""
        return len(self._waiting)

    @property
    def connections(self) -> list[Connection]:
        """The connections that have an authentication exchange."""
        return list(self._waiting)

    def get(self, connection: Connection) -> Exchange | None:
        """Return the authentication exchange of a connection, or None if there is none."""
        waiting = self._waiting.get(connection)
        return None if waiting is None else waiting.exchange

    def connection_to_close(self, origin: str) -> Connection | None:
        """Return the connection whose exchange must be cancelled to make room for a new exchange.

        `origin` is the network address of the new exchange. The result is None if there is room.
        """
        own = self._by_origin.get(origin, {})
        if len(own) >= EXCHANGES_OF_AN_ADDRESS_MAX:
            return _oldest_of(own)
        if len(self._waiting) < EXCHANGES_MAX:
            return None
        largest = max(self._by_origin.values(), key=len)
        return _oldest_of(own if len(own) == len(largest) else largest)

    def add(
        self,
        connection: Connection,
        exchange: Exchange,
        origin: str,
        deadline: asyncio.TimerHandle,
    ) -> None:
        """Store the authentication exchange of a connection that has no other exchange.

        `origin` is the client's network address, and `deadline` the timer that ends the exchange.
        """
        self._waiting[connection] = Waiting(exchange, origin, deadline)
        self._by_origin.setdefault(origin, {})[connection] = None

    def forget(self, connection: Connection) -> None:
        """Remove a connection's authentication exchange, if there is one, and cancel its timer."""
        waiting = self._waiting.pop(connection, None)
        if waiting is None:
            return
        waiting.deadline.cancel()
        own = self._by_origin[waiting.origin]
        del own[connection]
        if not own:
            del self._by_origin[waiting.origin]

    def clear(self) -> None:
        """Remove all authentication exchanges."""
        for connection in list(self._waiting):
            self.forget(connection)


def _oldest_of(own: dict[Connection, None]) -> Connection:
    """Choose the connection whose authentication exchange will be cancelled.

    `own` contains the connections from one address, the oldest first. The oldest connection whose
    client is not connected yet is chosen. If all clients are already connected and are
    authenticating again, the oldest connection is chosen.
    """
    not_in = (each for each in own if each.state is not ConnectionState.CONNECTED)
    return next(not_in, next(iter(own)))
