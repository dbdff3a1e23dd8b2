"""How much of something a second may bring, and how much together after a pause. Pure."""


class TokenBucket:
    """Fills with `rate` tokens a second up to `burst`, and may be overdrawn."""

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self.rate = rate
        self.burst = burst
        self.tokens = burst
        self.counted_at = now

    def _fill(self, now: float) -> None:
        if now > self.counted_at:
            self.tokens = min(self.burst, self.tokens + (now - self.counted_at) * self.rate)
            self.counted_at = now

    def has_one(self, now: float) -> bool:
        """Return whether there is a token to take."""
        self._fill(now)
        return self.tokens >= 1.0

    def take(self, now: float) -> bool:
        """Take one token; return False where there is none."""
        if not self.has_one(now):
            return False
        self.tokens -= 1.0
        return True

    def spend(self, count: float, now: float) -> float:
        """Take `count` tokens, also more than there are.

        Returns:
            In how many seconds none is owed any more; 0.0: none is.
        """
        self._fill(now)
        self.tokens -= count
        return -self.tokens / self.rate if self.tokens < 0.0 else 0.0

    def is_full(self, now: float) -> bool:
        """Return whether there is nothing to remember."""
        self._fill(now)
        return self.tokens >= self.burst
