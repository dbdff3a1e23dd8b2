"""Statistics of a frequent quantity: lowest, mean and highest value in each 5-second interval.

The web page requests the status only every 5 seconds. Without the statistics, the web page would
miss the values between two requests (docs/formats/control-socket.md).
"""

import math
from typing import Final

STEP_SECONDS: Final = 5
"""Length of a step in seconds, as in the web page's history of the last hour."""
WHOLE_STEPS_MAX: Final = 2
"""Number of completed steps to report. With two, a late status request does not miss a step."""
OFTEN_SECONDS: Final = 10.0
"""Readings at larger intervals are reported one by one, because the web page cannot miss any."""


class Steps:
    """Statistics of one quantity in the latest steps. A step is an interval of 5 seconds."""

    __slots__ = (
        "_count",
        "_high",
        "_interval",
        "_last",
        "_latest",
        "_low",
        "_step",
        "_sum",
        "_whole",
    )

    def __init__(self) -> None:
        self._whole: list[dict[str, float]] = []
        self._low, self._high = math.inf, -math.inf
        self._step = -1
        self._latest = -math.inf
        self._interval = math.inf
        self._begin(-1)

    def add(self, seconds: float, value: float) -> None:
        """Add a value with the time of its arrival, in seconds since 1970."""
        if not math.isfinite(value):
            return
        step = int(seconds // STEP_SECONDS)
        if step != self._step:
            self._end()
            self._begin(step)
        self._interval, self._latest = abs(seconds - self._latest), seconds
        self._count += 1
        self._sum += value
        self._low = min(self._low, value)
        self._high = max(self._high, value)
        self._last = value

    def whole(self, seconds: float) -> list[dict[str, float]]:
        """Return the statistics of the latest complete steps, the oldest first.

        A step is an interval of 5 seconds. `seconds` is the current time in seconds since 1970. The
        list is empty if values arrive rarely.
        """
        if self._step != int(seconds // STEP_SECONDS):
            self._end()
            self._begin(-1)
        if self._interval >= OFTEN_SECONDS or seconds - self._latest > 4 * OFTEN_SECONDS:
            return []
        return self._whole

    def latest_mean(self, seconds: float) -> float | None:
        """Return the mean of the latest complete 5-second interval.

        `seconds` is the current time in seconds since 1970. Return None if no value has arrived
        recently.
        """
        self.whole(seconds)
        if not self._whole or seconds - self._latest > OFTEN_SECONDS:
            return None
        return self._whole[-1]["mean"]

    def _begin(self, step: int) -> None:
        self._step = step
        self._count, self._sum = 0, 0.0
        self._low, self._high, self._last = math.inf, -math.inf, math.nan

    def _end(self) -> None:
        if self._count:
            mean = min(max(self._sum / self._count, self._low), self._high)
            ended = {
                "start_ms": 1000 * STEP_SECONDS * self._step,
                "count": self._count,
                "low": self._low,
                "mean": mean,
                "high": self._high,
                "last": self._last,
            }
            self._whole = [*self._whole, ended][-WHOLE_STEPS_MAX:]
