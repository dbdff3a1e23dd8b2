"""What one client may send in a second, or all of a user, an address or a listener together, and
what all of a user may bring into the journal in a day. Beyond it they are read from later.

Counted at each read, not at each packet: a client that sent too much together owes the time that
its rate would have taken for it.
"""

from typing import Final

from gateway.core.token_bucket import TokenBucket

# Not Final: tests make it small enough to be waited for.
BURST_SECONDS: float = 10.0
"""What may come together after a pause, in seconds of the rate: what a client gathered while it had
no network."""

DAY_SECONDS: Final = 86_400.0
"""What the journal may get in a day may come together: a client that was away brings it so."""

JOURNAL_BYTES: Final = "journal_bytes_per_day"

SECONDS_BETWEEN_LINES: Final = 60.0
"""Between two lines in the log about one meter."""


class Meter:
    """Of one connection, or of all connections of a user, an address or a listener."""

    def __init__(
        self,
        packet_rate: int,
        byte_rate: int,
        now: float,
        *,
        prefix: str,
        suffix: str = "",
        journal_bytes_per_day: int = 0,
        is_of_client: bool = False,
    ) -> None:
        """`prefix` and `suffix`: of the names of its limits. A rate is of a second; 0: no limit."""
        self.packet_rate = packet_rate
        self.byte_rate = byte_rate
        self.journal_bytes_per_day = journal_bytes_per_day
        self.is_of_client = is_of_client
        """It counts one connection alone: the rates of a user take its place."""
        self._prefix = prefix
        self._suffix = suffix
        self._packets = _bucket_of(packet_rate, BURST_SECONDS, now)
        self._bytes = _bucket_of(byte_rate, BURST_SECONDS, now)
        self._journal = _bucket_of(journal_bytes_per_day / DAY_SECONDS, DAY_SECONDS, now)
        self._sent_free_at = now
        self._journal_free_at = now
        self._rate = ""
        """Which of packets and bytes is longer exceeded."""
        self.free_at = now
        """When nothing is owed any more."""
        self.limit = ""
        """The name of the limit that is longest exceeded."""
        self._next_line_at = now

    def rates(self) -> tuple[int, int, int]:
        """Return packets and bytes a second, and bytes of the journal a day; 0: no limit."""
        return self.packet_rate, self.byte_rate, self.journal_bytes_per_day

    def spend(self, packets_count: int, bytes_count: int, now: float) -> None:
        """Count what one read brought."""
        if self._packets is None and self._bytes is None:
            return
        of_packets = 0.0 if self._packets is None else self._packets.spend(packets_count, now)
        of_bytes = 0.0 if self._bytes is None else self._bytes.spend(bytes_count, now)
        self._sent_free_at = now + max(of_packets, of_bytes)
        self._rate = "packet_rate" if of_packets >= of_bytes else "byte_rate"
        self._update()

    def record(self, bytes_count: int, now: float) -> None:
        """Count what came into the journal because of one read."""
        if self._journal is not None:
            self._journal_free_at = now + self._journal.spend(bytes_count, now)
            self._update()

    def _update(self) -> None:
        is_journal = self._journal_free_at > self._sent_free_at
        self.free_at = max(self._journal_free_at, self._sent_free_at)
        self.limit = self._prefix + (JOURNAL_BYTES if is_journal else self._rate) + self._suffix

    def wants_line(self, now: float) -> bool:
        """Return whether the log has had no line about this meter for long enough."""
        if now < self._next_line_at:
            return False
        self._next_line_at = now + SECONDS_BETWEEN_LINES
        return True

    def is_full(self, now: float) -> bool:
        """Return whether there is nothing to remember."""
        buckets = (self._packets, self._bytes, self._journal)
        return all(bucket is None or bucket.is_full(now) for bucket in buckets)


def _bucket_of(rate: float, burst_seconds: float, now: float) -> TokenBucket | None:
    return TokenBucket(float(rate), rate * burst_seconds, now) if rate else None
