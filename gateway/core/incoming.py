"""Memory used for incomplete input of all clients together, with limits.

Each connection has its own limits; these limits are for thousands of connections that all use them.
Connections that use little are never affected.
"""

from typing import Final

from gateway.core.memory import text_bytes_of
from gateway.core.sessions.connection import Connection, ConnectionState
from gateway.core.violation import Violation
from gateway.wire.codes import QUOTA_EXCEEDED

# Not Final: tests make them small enough to be reached.
PARTS_BYTES_MAX: int = 64 * 1024 * 1024
"""Packets that have not come as a whole, and those behind a CONNECT whose password is being
checked. Beyond it the connection ends whose packet has been awaited for the longest time: one that
sends what it has begun is not among the oldest."""

UNDECIDED_FACTOR: Final = 50
"""What a byte costs while a password is being checked: the shortest packet has two, and takes a
hundred once it is decoded."""

ALIASES_BYTES_MAX: int = 32 * 1024 * 1024
"""Topics that have a number, beyond what each connection has free."""

ALIASES_BYTES_FREE: Final = 4 * 1024
"""Of one connection: 16 topics of some 50 bytes. A topic may have 64 kB, and cost 300."""

ALIAS_BYTES: Final = 250
"""What an alias costs beside its topic."""


class Incoming:
    """Counts the memory used, and names the connection to end when it is too much."""

    def __init__(self) -> None:
        self.parts: dict[Connection, int] = {}
        """Bytes for each connection that awaits the rest of a packet, the oldest first."""
        self.parts_bytes = 0
        self.aliases: dict[Connection, int] = {}
        """Bytes for each connection that gave numbers to topics."""
        self.aliases_bytes = 0
        """Of these, those beyond what each has free."""

    def received(self, connection: Connection, data_bytes: int, completed: bool) -> None:
        """Count received bytes. `completed`: they completed a packet.

        The waiting time restarts with each packet.
        """
        size_bytes = connection.decoder.partial_bytes()
        if connection.state is ConnectionState.AUTHENTICATING:
            size_bytes += self.parts.get(connection, 0) + data_bytes * UNDECIDED_FACTOR
        before = self.parts.get(connection, 0)
        if before and (completed or not size_bytes):
            del self.parts[connection]
        if size_bytes:
            self.parts[connection] = size_bytes
        self.parts_bytes += size_bytes - before

    def one_too_many(self, packet_bytes_max: int) -> Connection | None:
        """Return the connection to close because all together use too much memory, or None."""
        if self.parts_bytes <= max(PARTS_BYTES_MAX, 2 * packet_bytes_max):
            return None
        return next(iter(self.parts))

    def alias(
        self, connection: Connection, alias: int, topic: str, topic_field: bytes
    ) -> Violation | None:
        """Store the topic of a topic alias. Return a violation if it takes too much memory."""
        before = self.aliases.get(connection, 0)
        size_bytes = before + _alias_bytes_of(topic, topic_field)
        known = connection.aliases_in.get(alias)
        if known is not None:
            size_bytes -= _alias_bytes_of(known[0], known[1])
        total = self.aliases_bytes + _beyond_free(size_bytes) - _beyond_free(before)
        if size_bytes > max(before, ALIASES_BYTES_FREE) and total > ALIASES_BYTES_MAX:
            return Violation(
                "aliases_bytes",
                QUOTA_EXCEEDED,
                f"aliases of {size_bytes} bytes while there is no room for such: expected at most "
                f"{ALIASES_BYTES_FREE}",
            )
        connection.aliases_in[alias] = (topic, topic_field)
        self.aliases[connection] = size_bytes
        self.aliases_bytes = total
        return None

    def forget(self, connection: Connection) -> None:
        """Forget a closed connection."""
        self.parts_bytes -= self.parts.pop(connection, 0)
        self.aliases_bytes -= _beyond_free(self.aliases.pop(connection, 0))


def _alias_bytes_of(topic: str, topic_field: bytes) -> int:
    return ALIAS_BYTES + text_bytes_of(topic) + len(topic_field)


def _beyond_free(size_bytes: int) -> int:
    return max(0, size_bytes - ALIASES_BYTES_FREE)
