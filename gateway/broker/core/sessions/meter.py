"""Limits on packets and bytes per second, for one client or for several clients together.

Several clients are counted together if they have the same user, address or listener. The bytes that
a user adds to the journal are also limited per day. When a client exceeds a limit, the broker
pauses reading from the client for as long as the allowed rate requires. Usage is counted once for
each read, not for each packet.
"""

from typing import Final

from gateway.broker.core.token_bucket import TokenBucket

# Not Final, so that tests can use a shorter time.
BURST_SECONDS: float = 10.0
"""Size of the burst allowed after a pause, in seconds of the rate: a client without a network
collects messages."""

DAY_SECONDS: Final = 86_400.0
"""Seconds of a day. A client that was away may add the journal bytes of a whole day as a burst."""

JOURNAL_BYTES: Final = "journal_bytes_per_day"

SECONDS_BETWEEN_LINES: Final = 60.0
"""Minimum seconds between two log lines about a meter."""


class Meter:
    """Meter of the rates of one connection, or of several connections together.

    Connections are measured together if they have the same user, address or listener.
    """

    def __init__(
        self,
        packet_rate: int,
        byte_rate: int,
        now: float,
        *,
        prefix: str,
        suffix: str = "",
        journal_bytes_per_day: int = 0,
        is_per_connection: bool = False,
    ) -> None:
        """Set the rates per second. A rate of 0 means unlimited.

        The keyword arguments `prefix` and `suffix` are the beginning and the end of each limit's
        name, as shown to operators.
        """
        self.packet_rate = packet_rate
        self.byte_rate = byte_rate
        self.journal_bytes_per_day = journal_bytes_per_day
        self.is_per_connection = is_per_connection
        """True if it counts a single connection. A user's own meter with rates replaces it."""
        self._prefix = prefix
        self._suffix = suffix
        self._packets = _bucket_of(packet_rate, BURST_SECONDS, now)
        self._bytes = _bucket_of(byte_rate, BURST_SECONDS, now)
        self._journal = _bucket_of(journal_bytes_per_day / DAY_SECONDS, DAY_SECONDS, now)
        self._sent_free_at = now
        self._journal_free_at = now
        self._rate = ""
        """The rate, of packets or bytes, that requires the longer wait."""
        self.free_at = now
        """Time when the client may be read again (monotonic seconds)."""
        self.limit = ""
        """The name of the limit that requires the longest wait."""
        self._next_line_at = now

    def rates(self) -> tuple[int, int, int]:
        """Return the limits on packets per second, bytes per second and journal bytes per day."""
        return self.packet_rate, self.byte_rate, self.journal_bytes_per_day

    def spend(self, packets_count: int, bytes_count: int, now: float) -> None:
        """Count the packets and bytes of one read, and update the time for the next (`free_at`)."""
        if self._packets is None and self._bytes is None:
            return
        packets_wait_seconds = (
            0.0 if self._packets is None else self._packets.spend(packets_count, now)
        )
        bytes_wait_seconds = 0.0 if self._bytes is None else self._bytes.spend(bytes_count, now)
        self._sent_free_at = now + max(packets_wait_seconds, bytes_wait_seconds)
        self._rate = "packet_rate" if packets_wait_seconds >= bytes_wait_seconds else "byte_rate"
        self._update()

    def record(self, bytes_count: int, now: float) -> None:
        """Count the bytes that the packets of one read added to the journal."""
        if self._journal is not None:
            self._journal_free_at = now + self._journal.spend(bytes_count, now)
            self._update()

    def _update(self) -> None:
        is_journal = self._journal_free_at > self._sent_free_at
        self.free_at = max(self._journal_free_at, self._sent_free_at)
        self.limit = self._prefix + (JOURNAL_BYTES if is_journal else self._rate) + self._suffix

    def wants_line(self, now: float) -> bool:
        """Return True if another log line about this meter is due.

        The caller must then log the line, because this call records that it was logged at `now`.
        """
        if now < self._next_line_at:
            return False
        self._next_line_at = now + SECONDS_BETWEEN_LINES
        return True

    def is_full(self, now: float) -> bool:
        """Return True if past usage no longer restricts clients, so the meter can be discarded."""
        buckets = (self._packets, self._bytes, self._journal)
        return all(bucket is None or bucket.is_full(now) for bucket in buckets)


def _bucket_of(rate: float, burst_seconds: float, now: float) -> TokenBucket | None:
    return TokenBucket(float(rate), rate * burst_seconds, now) if rate else None
