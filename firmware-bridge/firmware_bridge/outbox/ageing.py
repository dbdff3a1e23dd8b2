"""Measures the age of readings in the outbox, independently of the wall clock.

The outbox has its own clock, which counts the seconds while the bridge runs. When the bridge
starts, the clock continues from the arrival time of the previous run's newest reading. Readings
therefore do not age while the gateway is off. A wrong wall clock has no effect on their age.
"""

import time


class Ageing:
    """The outbox's clock, and the maximum age of readings.

    `last_arrived` is the arrival time of the newest reading on disk, in seconds of the outbox's
    clock. If `age_max_seconds` is None, the age is unlimited.
    """

    def __init__(self, last_arrived: int, age_max_seconds: float | None) -> None:
        self._begun = time.monotonic() - last_arrived
        self.age_max_seconds = age_max_seconds
        self.oldest: int | None = None
        """Arrival time of the oldest reading that was unpublished at the last commit, or None."""

    def now(self) -> int:
        """Return the time on the outbox's clock, in whole seconds."""
        return int(time.monotonic() - self._begun)

    def is_old(self, arrived: int) -> bool:
        """Return True if a reading exceeds the maximum age.

        `arrived` is the time at which the reading arrived, measured with the outbox's clock.
        """
        return self.age_max_seconds is not None and self.now() - arrived > self.age_max_seconds

    @property
    def oldest_is_old(self) -> bool:
        """True if the oldest unpublished reading exceeds the maximum age."""
        return self.oldest is not None and self.is_old(self.oldest)
