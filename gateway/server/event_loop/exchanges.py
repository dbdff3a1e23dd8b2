"""The exchanges of enhanced authentication that wait for their clients: a bounded number of them.

Where there is no place, the address that holds the most gives one up, and of its exchanges the
oldest: who opens a thousand takes them from itself.
"""

import asyncio

from gateway.access.authentication import Exchange
from gateway.core.sessions.connection import Connection, ConnectionState

EXCHANGES_MAX = 1_000
"""Exchanges at a time: some 20 MB at worst, when each client sends the longest name. A fleet that
comes back together needs a few round trips each; a client too many is answered to try again."""

EXCHANGES_OF_AN_ADDRESS_MAX = 500
"""Those of one address, or one /64 of IPv6: half, for a fleet behind one router."""


class Waiting:
    """An exchange, whose it is, and when the broker's patience with its client ends."""

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
        """Return how many are open."""
        return len(self._waiting)

    @property
    def connections(self) -> list[Connection]:
        """Whose they are."""
        return list(self._waiting)

    def get(self, connection: Connection) -> Exchange | None:
        """Return the exchange of a connection."""
        waiting = self._waiting.get(connection)
        return None if waiting is None else waiting.exchange

    def one_too_many(self, origin: str) -> Connection | None:
        """Return whose exchange has to end before one of `origin` is added; None: none has to."""
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
        """Keep the exchange of a connection that has none."""
        self._waiting[connection] = Waiting(exchange, origin, deadline)
        self._of_origins.setdefault(origin, {})[connection] = None

    def forget(self, connection: Connection) -> None:
        """Forget the exchange of a connection, if there is one."""
        waiting = self._waiting.pop(connection, None)
        if waiting is None:
            return
        waiting.deadline.cancel()
        own = self._of_origins[waiting.origin]
        del own[connection]
        if not own:
            del self._of_origins[waiting.origin]

    def clear(self) -> None:
        """Forget all of them."""
        for connection in list(self._waiting):
            self.forget(connection)


def _oldest_of(own: dict[Connection, None]) -> Connection:
    """Return the connection that began first; those that are let in already come last."""
    not_in = (each for each in own if each.state is not ConnectionState.CONNECTED)
    return next(not_in, next(iter(own)))
