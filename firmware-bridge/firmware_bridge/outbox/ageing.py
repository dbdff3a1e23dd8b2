"""Age of readings in the outbox, in a time that does not depend on the wall clock.

The outbox's time counts the seconds in which the bridge runs, from the latest arrival of the run
before. Otherwise a gateway without a battery-backed clock would consider readings from before its
clock was set too old, and drop them. Time while the gateway is off does not make readings older.
"""

import time


class Ageing:
    """`last_arrived` is the latest arrival on disk, in seconds. No `age_max_seconds`: no limit."""

    def __init__(self, last_arrived: int, age_max_seconds: float | None) -> None:
        self._begun = time.monotonic() - last_arrived
        self.age_max_seconds = age_max_seconds
        self.oldest: int | None = None
        """When the oldest reading that waits arrived, as the last commit found it."""

    def now(self) -> int:
        """Return the outbox's time, in whole seconds."""
        return int(time.monotonic() - self._begun)

    def is_old(self, arrived: int) -> bool:
        """Return whether a reading is older than readings may become."""
        return self.age_max_seconds is not None and self.now() - arrived > self.age_max_seconds

    @property
    def oldest_is_old(self) -> bool:
        """True if one that waits is."""
        return self.oldest is not None and self.is_old(self.oldest)
