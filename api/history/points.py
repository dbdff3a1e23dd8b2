"""Points of a time series. A point has the lowest, mean, highest and last value of a time step.

This module does no I/O.
"""

from array import array
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from math import inf, nan
from typing import NamedTuple


class Point(NamedTuple):
    """Values of one time step. `step` counts steps since 1970-01-01 UTC."""

    step: int
    low: float
    mean: float
    high: float
    last: float


@dataclass(slots=True)
class Summary:
    """Accumulator that combines the readings of one time step into a point."""

    step: int
    count: int = 0
    total: float = 0.0
    low: float = inf
    high: float = -inf
    last: float = nan

    def add(self, count: int, low: float, mean: float, high: float, last: float) -> None:
        """Add `count` readings, given only their lowest, mean, highest and last values."""
        self.count += count
        self.total += count * mean
        self.low = min(self.low, low)
        self.high = max(self.high, high)
        self.last = last

    def point(self) -> Point:
        """Return the combined readings as a point. At least one reading must have been added."""
        # The sum of many equal values may differ from them in the last digit.
        mean = min(max(self.total / self.count, self.low), self.high)
        return Point(self.step, self.low, mean, self.high, self.last)


class Track:
    """Points of one series in ascending order of their steps.

    Each point takes 40 bytes of memory.
    """

    __slots__ = ("_columns", "_steps")

    def __init__(self) -> None:
        self._steps = array("q")
        self._columns = tuple(array("d") for _ in range(4))

    def put(self, point: Point) -> None:
        """Append a point.

        If the last point has the same step, it is replaced. Points with later steps are removed.
        """
        steps = self._steps
        if steps and steps[-1] >= point.step:
            if steps[-1] == point.step:
                for column, value in zip(self._columns, point[1:], strict=True):
                    column[-1] = value
                return
            self.forget_from(point.step)
        self._steps.append(point.step)
        for column, value in zip(self._columns, point[1:], strict=True):
            column.append(value)

    def forget_from(self, step: int) -> None:
        """Remove the points from `step` onwards, for example because their times are wrong."""
        if self._steps and self._steps[-1] >= step:
            self._keep(0, bisect_left(self._steps, step))

    def forget_before(self, step: int) -> None:
        """Remove the points before `step`."""
        if self._steps and self._steps[0] < step:
            self._keep(bisect_left(self._steps, step), len(self._steps))

    def between(self, first: int, last: int) -> list[Point]:
        """Return the points of the steps from `first` to `last`, both included."""
        return list(self.copy(first, last))

    def copy(self, first: int, last: int) -> "Track":
        """Return a new track with the points of the steps from `first` to `last`."""
        copied = Track()
        begin, end = bisect_left(self._steps, first), bisect_left(self._steps, last + 1)
        copied._steps = self._steps[begin:end]
        copied._columns = tuple(column[begin:end] for column in self._columns)
        return copied

    def latest(self) -> int | None:
        """Return the step of the latest point, or None if there are no points."""
        return self._steps[-1] if self._steps else None

    def __iter__(self) -> Iterator[Point]:
        return map(Point, self._steps, *self._columns)

    def __len__(self) -> int:
        return len(self._steps)

    def _keep(self, begin: int, end: int) -> None:
        self._steps = self._steps[begin:end]
        self._columns = tuple(column[begin:end] for column in self._columns)
