"""Metrics of commits for the status: counts, sizes and durations."""

from gateway.core.recent import STEPS, StepClock


class CommitMetrics:
    """Counts, sizes and durations (in seconds) of commits since the start."""

    def __init__(self) -> None:
        self.batches = 0
        self.blob_bytes = 0
        self.seconds_total = 0.0
        self.seconds_max = 0.0
        self._longest = [0.0] * (STEPS + 1)
        """The longest commit of each step of the last hour, current step first."""
        self._clock = StepClock()

    def add(self, seconds: float, blob_bytes: int) -> None:
        """Count one commit."""
        self.batches += 1
        self.blob_bytes += blob_bytes
        self.seconds_total += seconds
        self.seconds_max = max(self.seconds_max, seconds)
        self._longest[0] = max(self._longest[0], seconds)

    def advance(self, now: float) -> None:
        """Discard maxima that are more than an hour older than `now` (monotonic, in seconds)."""
        for _ in range(min(self._clock.passed(now), STEPS + 1)):
            self._longest = [0.0, *self._longest[:STEPS]]

    @property
    def seconds_max_recent(self) -> float:
        """Duration of the longest commit in the last hour."""
        return max(self._longest)

    def mean_ms(self) -> float:
        """Return the mean duration of a commit in milliseconds."""
        return 1000 * self.seconds_total / self.batches if self.batches else 0.0
