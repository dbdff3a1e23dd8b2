"""The rings of the history: how long each is, in which steps, and how often it is written."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Ring:
    """One resolution of the history."""

    name: str
    step_seconds: int
    span_seconds: int
    chunk_steps: int
    """Steps written to disk together; 0: in memory, written when the process stops."""
    file_steps: int = 0
    """Steps in a file, after which the next one begins and the oldest may go."""
    files_max: int = 0
    bytes_max: int = 0
    """Bytes of the ring on disk, at most; beyond it the oldest file goes."""

    @property
    def steps(self) -> int:
        """Steps of the whole ring."""
        return self.span_seconds // self.step_seconds

    @property
    def step_ms(self) -> int:
        return 1000 * self.step_seconds


# 720 points: more than a curve on a screen shows.
HOUR: Final = Ring("hour", 5, 3600, chunk_steps=0, files_max=1, bytes_max=40_000_000)
# A power cut costs a quarter of an hour of the day's curve. Written every minute, the card would
# get 4 KiB of file system for each 2 KiB.
DAY: Final = Ring("day", 60, 86_400, 15, file_steps=360, files_max=5, bytes_max=24_000_000)
MONTH: Final = Ring("month", 900, 31 * 86_400, 4, file_steps=372, files_max=9, bytes_max=36_000_000)
RINGS: Final = (HOUR, DAY, MONTH)


def ring_for(*, step_seconds: int | None, span_seconds: float) -> Ring:
    """Return the ring with a step, or the finest one that is as long as a span."""
    for ring in RINGS:
        fits = span_seconds <= ring.span_seconds if step_seconds is None else False
        if ring.step_seconds == step_seconds or fits:
            return ring
    return MONTH
