"""The rings of the history. Each ring stores the points with one resolution.

A ring has a time span, a step, and an interval at which it is written to disk.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Ring:
    """One resolution of the history. A ring contains points from the last `span_seconds`."""

    name: str
    step_seconds: int
    span_seconds: int
    chunk_steps: int
    """Steps written to disk together; 0 if the ring is written only when the process stops."""
    file_steps: int = 0
    """Steps in a file. When it is full, a new file begins, and the oldest file may be removed."""
    files_max: int = 0
    bytes_max: int = 0
    """Bytes of the ring on disk, at most. Beyond this limit the oldest file is removed."""

    @property
    def steps(self) -> int:
        """Number of steps in the whole ring."""
        return self.span_seconds // self.step_seconds

    @property
    def step_ms(self) -> int:
        return 1000 * self.step_seconds


# 720 points: more than a chart on a screen shows.
HOUR: Final = Ring("hour", 5, 3600, chunk_steps=0, files_max=1, bytes_max=40_000_000)
# A power cut costs a quarter of an hour of the day's chart. If the ring were written every minute,
# the file system would write 4 KiB to the card for every 2 KiB of data.
DAY: Final = Ring("day", 60, 86_400, 15, file_steps=360, files_max=5, bytes_max=24_000_000)
MONTH: Final = Ring("month", 900, 31 * 86_400, 4, file_steps=372, files_max=9, bytes_max=36_000_000)
RINGS: Final = (HOUR, DAY, MONTH)


def ring_for(*, step_seconds: int | None, span_seconds: float) -> Ring:
    """Return the ring with a given step length, or the finest ring that covers a time span.

    Args:
        step_seconds: the length of a step, or None to choose the ring by the time span.
        span_seconds: the time span, which ends now.

    If there is no matching ring, return the ring of the month.
    """
    for ring in RINGS:
        fits = span_seconds <= ring.span_seconds if step_seconds is None else False
        if ring.step_seconds == step_seconds or fits:
            return ring
    return MONTH
