"""A token bucket that limits the rate per second and the size of a burst.

This module is pure: it does no I/O and reads no clock.
"""


class TokenBucket:
    """A bucket that fills with `rate` tokens per second up to `burst`. It can be overdrawn."""

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self.rate = rate
        self.burst = burst
        self.tokens = burst
        self.counted_at = now

    def _fill(self, now: float) -> None:
        if now > self.counted_at:
            self.tokens = min(self.burst, self.tokens + (now - self.counted_at) * self.rate)
            self.counted_at = now

    def has_token(self, now: float) -> bool:
        """Return True if a token is available."""
        self._fill(now)
        return self.tokens >= 1.0

    def take(self, now: float) -> bool:
        """Take one token. Return False if none is available."""
        if not self.has_token(now):
            return False
        self.tokens -= 1.0
        return True

    def spend(self, count: float, now: float) -> float:
        """Take `count` tokens, even if fewer are available.

        Returns:
            The seconds until the bucket is no longer overdrawn, or 0.0 if it is not overdrawn.
        """
        self._fill(now)
        self.tokens -= count
        return -self.tokens / self.rate if self.tokens < 0.0 else 0.0

    def is_full(self, now: float) -> bool:
        """Return True if the bucket is full, so it can be discarded."""
        self._fill(now)
        return self.tokens >= self.burst
