"""Metrics of commits for the broker's status: the number of commits, their sizes and durations."""

from bisect import bisect_left
from typing import Final

from gateway.broker.core.recent import STEPS, StepClock

BOUNDS_MS: Final = (
    *(0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0),
    *(50.0, 100.0, 200.0, 500.0, 1000.0, 2000.0, 5000.0),
)
"""Upper bounds of the histogram's buckets in milliseconds, from a disk in memory to an SD card that
is about to fail."""


class CommitMetrics:
    """Number, sizes and durations (in seconds) of all commits since the start."""

    def __init__(self) -> None:
        self.batches = 0
        self.blob_bytes = 0
        self.seconds_total = 0.0
        self.seconds_max = 0.0
        self.counts = [0] * (len(BOUNDS_MS) + 1)
        """Number of commits in each bucket of `BOUNDS_MS`, and above the last bound."""
        self._longest = [0.0] * (STEPS + 1)
        """Duration of the longest commit in each time step of the last hour, in seconds. The first
        entry is for the current step."""
        self._clock = StepClock()

    def add(self, seconds: float, blob_bytes: int) -> None:
        """Count one commit, with its duration in seconds and the size of its data in bytes."""
        self.batches += 1
        self.blob_bytes += blob_bytes
        self.seconds_total += seconds
        self.seconds_max = max(self.seconds_max, seconds)
        self.counts[bisect_left(BOUNDS_MS, 1000 * seconds)] += 1
        self._longest[0] = max(self._longest[0], seconds)

    def advance(self, now: float) -> None:
        """Discard the durations of commits that were measured more than an hour ago.

        `now` is monotonic time in seconds.
        """
        for _ in range(min(self._clock.steps_ended(now), STEPS + 1)):
            self._longest = [0.0, *self._longest[:STEPS]]

    @property
    def seconds_max_recent(self) -> float:
        """The duration of the longest commit in the last hour, in seconds."""
        return max(self._longest)

    def mean_ms(self) -> float:
        """Return the mean duration of a commit in milliseconds."""
        return 1000 * self.seconds_total / self.batches if self.batches else 0.0
