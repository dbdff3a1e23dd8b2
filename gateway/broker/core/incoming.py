"""Limits on the total memory for incomplete packets and topic aliases of all clients.

Each connection also has limits of its own, but thousands of connections that reach their own limits
could together take too much memory. If incomplete packets take too much, the connection that has
waited longest for the rest of a packet is closed. Every connection may use a few topic aliases.
"""

from typing import Final

from gateway.broker.core.memory import text_bytes_of
from gateway.broker.core.sessions.connection import Connection, ConnectionState
from gateway.broker.core.violation import Violation
from gateway.broker.wire.codes import QUOTA_EXCEEDED

# Not Final, so that tests can use smaller values.
PARTS_BYTES_MAX: int = 64 * 1024 * 1024
"""Maximum bytes of incomplete packets of all connections, including packets that follow a CONNECT
whose password is being checked. Beyond this, the connection that has waited longest for the rest of
a packet is closed. A connection that completes packets is not among the oldest."""

UNPROCESSED_FACTOR: Final = 50
"""Bytes of memory per received byte while a password is being checked: the shortest packet has two
bytes, and takes a hundred when decoded."""

ALIASES_BYTES_MAX: int = 32 * 1024 * 1024
"""Maximum memory in bytes of all topic aliases, not counting each connection's free allowance."""

ALIASES_BYTES_FREE: Final = 4 * 1024
"""Bytes of topic aliases that each connection may always use: 16 topics of about 50 bytes. A topic
of 64 kB can take 300 kB."""

ALIAS_BYTES: Final = 250
"""Memory of an alias in addition to its topic, in bytes."""


class Incoming:
    """Counter of the memory for incomplete packets and topic aliases, with limits on the totals."""

    def __init__(self) -> None:
        self.parts: dict[Connection, int] = {}
        """Bytes by connection with an incomplete packet, oldest first."""
        self.parts_bytes = 0
        self.aliases: dict[Connection, int] = {}
        """Bytes of topic aliases by connection."""
        self.aliases_bytes = 0
        """Bytes of topic aliases beyond the free allowance of each connection."""

    def received(self, connection: Connection, data_bytes: int, completed: bool) -> None:
        """Count bytes received from a client.

        `completed` is True if the bytes completed a packet. The connection then becomes the last
        one that `connection_to_close` would select.
        """
        size_bytes = connection.decoder.partial_bytes()
        if connection.state is ConnectionState.AUTHENTICATING:
            size_bytes += self.parts.get(connection, 0) + data_bytes * UNPROCESSED_FACTOR
        before = self.parts.get(connection, 0)
        if before and (completed or not size_bytes):
            del self.parts[connection]
        if size_bytes:
            self.parts[connection] = size_bytes
        self.parts_bytes += size_bytes - before

    def connection_to_close(self, packet_bytes_max: int) -> Connection | None:
        """Return a connection to close if all incomplete packets together take too much memory.

        Return None if their total is within the limit. `packet_bytes_max` is the maximum size of a
        packet. The limit allows at least two packets of this size.
        """
        if self.parts_bytes <= max(PARTS_BYTES_MAX, 2 * packet_bytes_max):
            return None
        return next(iter(self.parts))

    def alias(
        self, connection: Connection, alias: int, topic: str, topic_field: bytes
    ) -> Violation | None:
        """Store a client's topic alias, unless the aliases of all clients take too much memory.

        `topic_field` is the encoded topic. Return None if the alias was stored, otherwise a
        violation that describes the exceeded limit.
        """
        before = self.aliases.get(connection, 0)
        size_bytes = before + _alias_bytes_of(topic, topic_field)
        known = connection.aliases_in.get(alias)
        if known is not None:
            size_bytes -= _alias_bytes_of(known[0], known[1])
        total = self.aliases_bytes + _counted_bytes(size_bytes) - _counted_bytes(before)
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
        """Remove a closed connection from all memory counts."""
        self.parts_bytes -= self.parts.pop(connection, 0)
        self.aliases_bytes -= _counted_bytes(self.aliases.pop(connection, 0))


def _alias_bytes_of(topic: str, topic_field: bytes) -> int:
    return ALIAS_BYTES + text_bytes_of(topic) + len(topic_field)


def _counted_bytes(size_bytes: int) -> int:
    return max(0, size_bytes - ALIASES_BYTES_FREE)
