"""Progress of a run: its rate, and the estimated remaining time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class Pace:
    """Progress of a run: its start time in seconds, and the segments and bytes processed so far."""

    began: float
    segments: int = 0
    file_bytes: int = 0

    def line(self, now: float, *, segments: int, file_bytes: int, waiting: int) -> str:
        """Return the progress line after a batch: the totals, the rate, and the remaining time.

        `segments` and `file_bytes` are the batch's counts, which are added to the totals. `waiting`
        is the number of segments that remain to be ingested.
        """
        self.segments += segments
        self.file_bytes += file_bytes
        seconds = max(now - self.began, 0.001)
        rate = self.segments / seconds
        done = f"{self.segments:,} segments, {self.file_bytes / 1e6:,.1f} MB in {seconds:,.0f} s"
        speed = f"{rate:,.1f} segments/s, {self.file_bytes / 1e6 / seconds:,.1f} MB/s"
        if not waiting:
            return f"{done} ({speed})"
        return f"{done} ({speed}); {waiting:,} wait, about {_duration(waiting / rate)}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
