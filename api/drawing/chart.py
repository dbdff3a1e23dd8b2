"""Charts of values over time: SVG paths, and labels for the axes.

The SVG drawing is stretched to the width of the screen, so it contains no text. The labels are HTML
next to the drawing. Where readings are missing, the line has a gap. This module does no I/O.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import median
from typing import Final

from api.history.history import Curve
from api.history.points import Point
from api.wording import duration_of, time_of, unit_of

WIDTH: Final = 600
HEIGHT: Final = 160
_BINS_MAX: Final = 150
"""Points of a chart, at most: one every four pixels on a desktop, every two on a phone."""
_ROWS_MAX: Final = 12
"""Rows of the table next to a chart."""
_GRID_LINES: Final = 4
_GAP_FACTOR: Final = 3
"""A gap is longer than this many times the usual interval between readings."""


@dataclass(frozen=True)
class Row:
    """A row in the table next to a chart: lowest, mean and highest value in a time interval."""

    begin_ms: int
    low: str
    mean: str
    high: str


@dataclass(frozen=True)
class Chart:
    """A chart of one quantity: SVG paths, labels, and rows of the table next to it."""

    line: str
    band: str
    """Path around the lowest and highest values; empty if they equal the means."""
    grid: tuple[int, ...]
    """Vertical positions of the horizontal grid lines."""
    y_labels: tuple[str, ...]
    """Labels of the vertical axis, from top to bottom."""
    x_labels: tuple[str, ...]
    label: str
    """A sentence with the lowest, highest and latest value, for screen readers."""
    low: str
    high: str
    unit: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class _Bin:
    x: float
    low: float
    mean: float
    high: float
    begins: bool
    """True for the first point, and for the first point after each gap."""


def chart_of(curve: Curve, name: str, *, now_ms: int, bins: int = _BINS_MAX) -> Chart | None:
    """Return a chart of the points in `curve`, or None if there are no points to show.

    The chart covers the last hour, day or month, depending on `curve.ring`. `name` is the name of
    the quantity, for screen readers. The keyword argument `bins` is the approximate maximum number
    of points to draw. If there are more points, neighbouring points are joined.
    """
    ring = curve.ring
    end = now_ms // ring.step_ms
    begin = end - ring.steps
    points = [point for point in curve.points if begin < point.step <= end]
    if not points:
        return None
    points, unit = _with_prefix(points, curve.unit)
    scale = _Scale(min(each.low for each in points), max(each.high for each in points))
    drawn = _bins_of(points, begin, end, bins)
    is_binary = all({point.low, point.high} <= {0.0, 1.0} for point in points)
    low, high = (_number(value, scale.step / 100) for value in (scale.lowest, scale.highest))
    with_unit = f" {unit}" if unit else ""
    span = duration_of(ring.span_seconds)
    return Chart(
        line=_steps_of(drawn, scale) if is_binary else _line_of(drawn, scale),
        band="" if is_binary else _band_of(drawn, scale),
        grid=tuple(scale.y_of(tick) for tick in scale.ticks),
        y_labels=tuple(_number(tick, scale.step) + with_unit for tick in reversed(scale.ticks)),
        x_labels=_x_labels_of(ring.span_seconds, now_ms),
        unit=unit,
        label=(
            f"{name} in the last {_SPANS.get(ring.name, span)}: {low} to {high}{with_unit}, "
            f"latest {_number(points[-1].last, scale.step / 100)}{with_unit}"
        ),
        low=low,
        high=high,
        rows=_rows_of(points, ring.step_ms, scale),
    )


_SPANS: Final = {"hour": "hour", "day": "day", "month": "31 days"}


def _with_prefix(points: list[Point], unit: str) -> tuple[list[Point], str]:
    """Scale points in bytes to kB, MB, GB or TB, and return them with the unit to show.

    Points in other units are not scaled.
    """
    if unit not in {"B", "B/s"}:
        return points, unit_of(unit)
    highest = max(each.high for each in points)
    power = min(max(0, math.floor(math.log10(max(highest, 1.0))) // 3), 4)
    factor = 1000.0**power
    scaled = [
        Point(step, low / factor, mean / factor, high / factor, last / factor)
        for step, low, mean, high, last in points
    ]
    return scaled, ("", "k", "M", "G", "T")[power] + unit


class _Scale:
    """Vertical scale of a chart. The ends of the axis are round numbers that enclose all values."""

    def __init__(self, lowest: float, highest: float) -> None:
        self.lowest, self.highest = lowest, highest
        spread = highest - lowest
        # A constant is drawn in the middle, and noise in its last digits is not magnified.
        least = max(max(abs(highest), abs(lowest)) * 1e-6, 1e-9) if lowest or highest else 1.0
        if spread < least:
            below = 0.0 if 0 <= lowest < least else least / 2
            lowest, highest = lowest - below, highest + least - below
        self.step = _round_step((highest - lowest) / _GRID_LINES)
        first = math.floor(lowest / self.step)
        last = max(math.ceil(highest / self.step), first + 1)
        self.ticks = [each * self.step for each in range(first, last + 1)]

    def y_of(self, value: float) -> int:
        bottom, top = self.ticks[0], self.ticks[-1]
        return round(HEIGHT * (top - value) / (top - bottom))


def _round_step(rough: float) -> float:
    """Return the smallest round number that is at least `rough`.

    Round numbers are 1, 2 and 5 times a power of ten.
    """
    power = 10.0 ** math.floor(math.log10(rough))
    return next(power * each for each in (1, 2, 5, 10) if power * each >= rough * 0.999)


def _number(value: float, step: float) -> str:
    """Format the value of an axis label, with more decimals for a smaller `step` between labels."""
    decimals = min(max(0, -math.floor(math.log10(step) + 1e-9)), 12)
    rounded = round(value, decimals) + 0.0
    if abs(rounded) >= 1e15 or decimals >= 10:
        return f"{rounded:.6g}"
    if decimals == 0:
        return f"{rounded:,.0f}"
    # Without commas, as in `value_of`, on all labels of the axis.
    return f"{rounded:.{decimals}f}".rstrip("0").removesuffix(".")


def _bins_of(points: Sequence[Point], begin: int, end: int, bins: int) -> list[_Bin]:
    """Join neighbouring points, so that at most about `bins` points remain.

    Points on different sides of a gap are not joined. `begin` and `end` are the time steps at the
    left and right edges of the chart.
    """
    gaps = _gaps_in(points)
    per_bin = (end - begin) / bins
    found: list[_Bin] = []
    joined: list[Point] = []
    begins = True
    for point in points:
        is_after_gap = point.step in gaps
        if joined and (is_after_gap or point.step - joined[0].step >= per_bin):
            found.append(_joined(joined, begin, end, begins=begins))
            joined, begins = [], is_after_gap
        joined.append(point)
    found.append(_joined(joined, begin, end, begins=begins))
    return found


def _gaps_in(points: Sequence[Point]) -> set[int]:
    """Return the time step of the first point after each gap.

    A gap is an interval between two points that is much longer than the usual interval, and also
    longer than the intervals around it. The second condition is needed after a power cut. The chart
    of the last hour then begins with points that are a minute apart, but these intervals are not
    gaps.
    """
    distances = [after.step - before.step for before, after in pairwise(points)]
    if not distances:
        return set()
    usual = max(_GAP_FACTOR * median(distances), _GAP_FACTOR)
    found = set()
    for number, distance in enumerate(distances):
        if distance > usual:
            around = distances[max(0, number - 3) : number] + distances[number + 1 : number + 4]
            if not around or distance > 2 * median(around):
                found.add(points[number + 1].step)
    return found


def _joined(points: Sequence[Point], begin: int, end: int, *, begins: bool) -> _Bin:
    middle = (points[0].step + points[-1].step) / 2
    return _Bin(
        x=WIDTH * (middle - begin) / (end - begin),
        low=min(each.low for each in points),
        mean=sum(each.mean for each in points) / len(points),
        high=max(each.high for each in points),
        begins=begins,
    )


def _line_of(bins: Sequence[_Bin], scale: _Scale) -> str:
    parts = []
    for number, each in enumerate(bins):
        parts.append(f"{'M' if each.begins else 'L'}{each.x:.0f} {scale.y_of(each.mean)}")
        if each.begins and (number + 1 == len(bins) or bins[number + 1].begins):
            parts.append("h0")  # a dot
    return "".join(parts)


def _steps_of(bins: Sequence[_Bin], scale: _Scale) -> str:
    """Return the SVG path of a Boolean quantity: a line at two levels, with vertical edges."""
    parts = []
    for each in bins:
        place = f"{each.x:.0f} {scale.y_of(round(each.mean))}"
        parts.append(f"M{place}h1" if each.begins else f"H{each.x:.0f}V{place.split()[1]}")
    return "".join(parts)


def _band_of(bins: Sequence[_Bin], scale: _Scale) -> str:
    """Return the SVG path of the band between the lowest and the highest values.

    Each section without a gap is a closed outline. It follows the highest values, and returns along
    the lowest values.
    """
    if all(scale.y_of(each.low) == scale.y_of(each.high) for each in bins):
        return ""
    starts = [number for number, each in enumerate(bins) if each.begins]
    parts = []
    for start, end in zip(starts, [*starts[1:], len(bins)], strict=True):
        stretch = bins[start:end]
        corners = [f"{each.x:.0f} {scale.y_of(each.high)}" for each in stretch]
        corners += [f"{each.x:.0f} {scale.y_of(each.low)}" for each in reversed(stretch)]
        parts.append("M" + "L".join(corners) + "Z")
    return "".join(parts)


def _x_labels_of(span_seconds: int, now_ms: int) -> tuple[str, ...]:
    """Return five labels for the time axis, at intervals of a quarter of the time span."""
    quarters = [span_seconds * each // 4 for each in (4, 3, 2, 1)]
    if span_seconds > 86_400:
        dates = [time_of(max(0, now_ms - 1000 * seconds)) for seconds in quarters]
        return (*(f"{each.day} {each:%b}" for each in dates), "now")
    if span_seconds > 3600:
        first, *others = (f"{seconds // 3600} h" for seconds in quarters)
    else:
        first, *others = (f"{seconds // 60} min" for seconds in quarters)
    return (f"{first} ago", *others, "now")


def _rows_of(points: Sequence[Point], step_ms: int, scale: _Scale) -> tuple[Row, ...]:
    first, last = points[0].step, points[-1].step
    per_row = max(1, math.ceil((last - first + 1) / _ROWS_MAX))
    rows: dict[int, list[Point]] = {}
    for point in points:
        rows.setdefault((point.step - first) // per_row, []).append(point)
    return tuple(
        Row(
            each[0].step * step_ms,
            _number(min(point.low for point in each), scale.step / 100),
            _number(sum(point.mean for point in each) / len(each), scale.step / 100),
            _number(max(point.high for point in each), scale.step / 100),
        )
        for each in rows.values()
    )
