"""Load averages over 1, 5 and 15 minutes, calculated as in Mosquitto.

Each load average is an exponentially weighted average of a counter's rate per minute. At every
update, `average = rate + e * (average - rate)` with `e = exp(-elapsed / window)`. `rate` is the
increase of the counter since the last update, scaled to a minute.
"""

from math import exp
from typing import Final

WINDOWS_SECONDS: Final = {"1min": 60.0, "5min": 300.0, "15min": 900.0}


class LoadAverages:
    """Averages of the rates at which several counters increase, over 1, 5 and 15 minutes."""

    def __init__(self, counts: dict[str, int], now: float) -> None:
        self._counts = counts
        self._updated_at = now
        self._averages = {name: dict.fromkeys(WINDOWS_SECONDS, 0.0) for name in counts}

    def update(self, counts: dict[str, int], now: float) -> None:
        """Update the averages with the counters' values at `now` (monotonic time in seconds)."""
        elapsed = now - self._updated_at
        if elapsed <= 0:
            return
        weights = {name: exp(-elapsed / seconds) for name, seconds in WINDOWS_SECONDS.items()}
        for name, count in counts.items():
            rate = (count - self._counts[name]) * 60.0 / elapsed
            averages = self._averages[name]
            for window, weight in weights.items():
                averages[window] = rate + weight * (averages[window] - rate)
        self._counts = counts
        self._updated_at = now

    def values(self) -> dict[str, float]:
        """Return a dictionary of all averages, with keys such as `bytes/sent/5min`."""
        return {
            f"{name}/{window}": average
            for name, averages in self._averages.items()
            for window, average in averages.items()
        }
