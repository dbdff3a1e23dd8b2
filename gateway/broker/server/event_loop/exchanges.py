"""Enhanced authentication exchanges that wait for their clients; their number is limited.

When the limit is reached, the address with the most exchanges loses its oldest one. A client that
opens a thousand exchanges thus only displaces its own.
"""

import asyncio

from gateway.broker.access.authentication import Exchange
from gateway.broker.core.sessions.connection import Connection, ConnectionState

EXCHANGES_MAX = 1_000
"""Concurrent exchanges, at most: some 20 MB at worst, when each client sends the longest name. When
a fleet returns, each client needs a few round trips; one too many is asked to try again."""

EXCHANGES_OF_AN_ADDRESS_MAX = 500
"""Exchanges of one address, or one /64 of IPv6: half, for a fleet behind one router."""


class Waiting:
    """An exchange, its origin, and its deadline."""

    def __init__(self, exchange: Exchange, origin: str, deadline: asyncio.TimerHandle) -> None:
        self.exchange = exchange
        self.origin = origin
        self.deadline = deadline


class Exchanges:
    """Open exchanges by connection."""

    def __init__(self) -> None:
        self._waiting: dict[Connection, Waiting] = {}
        self._of_origins: dict[str, dict[Connection, None]] = {}

    def __len__(self) -> int:
        """Return the number of open exchanges."""
        return len(self._waiting)

    @property
    def connections(self) -> list[Connection]:
        """The connections that have an exchange."""
        return list(self._waiting)

    def get(self, connection: Connection) -> Exchange | None:
        """Return the exchange of a connection."""
        waiting = self._waiting.get(connection)
        return None if waiting is None else waiting.exchange

    def one_too_many(self, origin: str) -> Connection | None:
        """Return whose exchange must end before one of `origin` is added; None if there is room."""
        own = self._of_origins.get(origin, {})
        if len(own) >= EXCHANGES_OF_AN_ADDRESS_MAX:
            return _oldest_of(own)
        if len(self._waiting) < EXCHANGES_MAX:
            return None
        largest = max(self._of_origins.values(), key=len)
        return _oldest_of(own if len(own) == len(largest) else largest)

    def add(
        self,
        connection: Connection,
        exchange: Exchange,
        origin: str,
        deadline: asyncio.TimerHandle,
    ) -> None:
        """Store the exchange of a connection that has none."""
        self._waiting[connection] = Waiting(exchange, origin, deadline)
        self._of_origins.setdefault(origin, {})[connection] = None

    def forget(self, connection: Connection) -> None:
        """Remove the exchange of a connection, if there is one."""
        waiting = self._waiting.pop(connection, None)
        if waiting is None:
            return
        waiting.deadline.cancel()
        own = self._of_origins[waiting.origin]
        del own[connection]
        if not own:
            del self._of_origins[waiting.origin]

    def clear(self) -> None:
        """Remove all exchanges."""
        for connection in list(self._waiting):
            self.forget(connection)


def _oldest_of(own: dict[Connection, None]) -> Connection:
    """Return the oldest connection; those that are already connected come last."""
    not_in = (each for each in own if each.state is not ConnectionState.CONNECTED)
    return next(not_in, next(iter(own)))
