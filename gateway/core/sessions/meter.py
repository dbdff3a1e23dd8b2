"""What one client, or all clients of a user, may send in a second. Beyond it they are not read from
for a while.

Counted at each read, not at each packet: a client that sent too much together owes the time that
its rate would have taken for it.
"""

from typing import Final

from gateway.core.token_bucket import TokenBucket

# Not Final: tests make it small enough to be waited for.
BURST_SECONDS: float = 10.0
"""What may come together after a pause, in seconds of the rate: what a client gathered while it had
no network."""

SECONDS_BETWEEN_LINES: Final = 60.0
"""Between two lines in the log about one meter."""


class Meter:
    """Of one connection, or of all connections of a user."""

    def __init__(self, prefix: str, packet_rate: int, byte_rate: int, now: float) -> None:
        """`prefix`: of the names of its limits. A rate is of a second; 0: no limit."""
        self.packet_rate = packet_rate
        self.byte_rate = byte_rate
        self._prefix = prefix
        self._packets = _bucket_of(packet_rate, now)
        self._bytes = _bucket_of(byte_rate, now)
        self.free_at = now
        """When nothing is owed any more."""
        self.limit = ""
        """The name of the limit that is longest exceeded."""
        self._next_line_at = now

    def spend(self, packets_count: int, bytes_count: int, now: float) -> None:
        """Count what one read brought."""
        of_packets = 0.0 if self._packets is None else self._packets.spend(packets_count, now)
        of_bytes = 0.0 if self._bytes is None else self._bytes.spend(bytes_count, now)
        self.limit = self._prefix + ("packet_rate" if of_packets >= of_bytes else "byte_rate")
        self.free_at = now + max(of_packets, of_bytes)

    def wants_line(self, now: float) -> bool:
        """Return whether the log has had no line about this meter for long enough."""
        if now < self._next_line_at:
            return False
        self._next_line_at = now + SECONDS_BETWEEN_LINES
        return True


def _bucket_of(rate: int, now: float) -> TokenBucket | None:
    return TokenBucket(float(rate), rate * BURST_SECONDS, now) if rate else None
