"""Charts as SVG text.

The page's style sheet sets the colours, so that a chart fits a light and a dark theme.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 360, 150, 50, 20, 8
Value = float | None
_ENDS = tuple(
    n * size for size, ns in ((60, (2, 4, 10, 20, 60)), (3_600, (2, 4, 12, 24)),
                              (86_400, (2, 4, 10, 20, 40, 100, 200, 400, 1_000, 4_000, 40_000)))
    for n in ns
)  # fmt: skip
"""Ends of time axes, in seconds. Half of each end is a round time too."""


@dataclass(frozen=True, slots=True)
class Series:
    """A series of values in a chart, one per day, drawn as a line or as a part of stacked bars.

    `name` is shown in the legend, and `style` is a CSS class.
    """

    name: str
    style: str
    values: Sequence[Value]


def number(value: float) -> str:
    """Format a number for people, for example 1,234 or 1.2 M."""
    for least, unit in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if abs(value) >= least:
            return f"{value / (1e3 if unit == 'k' else least):.3g} {unit}"
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 100 else f"{value:.3g}"


def duration(seconds: float) -> str:
    """Format a duration in seconds as text, in the largest suitable unit."""
    for least, size, unit in ((172_800, 86_400, "d"), (5_400, 3_600, "h"), (90, 60, "min")):
        if seconds >= least:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:.3g} s" if seconds >= 1 or not seconds else f"{seconds * 1000:.3g} ms"


def _top_of(greatest: float, unit: str) -> float:
    """Return the upper end of an axis: a round number that is at least `greatest`.

    Round numbers are 1, 2 and 5 times a power of ten. If the values are durations of more than a
    minute (`unit` is `s`), the upper end is a round duration, such as 4 hours.
    """
    if greatest <= 0:
        return 1.0
    if unit == "s" and greatest > 60:
        return next((end for end in _ENDS if end >= greatest), _ENDS[-1])
    power = 10.0 ** math.floor(math.log10(greatest))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= greatest)


def chart(title: str, series: Sequence[Series], labels: Sequence[str], *, unit: str = "",
          is_stacked: bool = False) -> str:  # fmt: skip
    """Return a chart as HTML, with a legend.

    Args:
        title: heading of the chart.
        series: the series to draw. Each has one value per day.
        labels: names of the days.
        unit: `s` if the values are durations in seconds, otherwise empty.
        is_stacked: True to draw stacked bars, False to draw lines.
    """
    show = duration if unit == "s" else number
    columns = list(zip(*(one.values for one in series), strict=True))
    sums = [sum(v or 0 for v in column) if is_stacked else max((v or 0 for v in column), default=0)
            for column in columns]  # fmt: skip
    top = _top_of(max(sums, default=0), unit)
    draw = _bars if is_stacked else _lines
    ticks = "".join(
        f'<path class="grid" d="M{LEFT} {_y(top * share, top):.1f}H{WIDTH}"/>'
        f'<text x="{LEFT - 6}" y="{_y(top * share, top) + 4:.1f}" text-anchor="end">'
        f"{show(top * share)}</text>"
        for share in (0, 0.5, 1)
    )
    ends = (
        f'<text x="{LEFT}" y="{HEIGHT - 4}">{escape(labels[0])}</text>'
        f'<text x="{WIDTH}" y="{HEIGHT - 4}" text-anchor="end">{escape(labels[-1])}</text>'
    )
    legend = "".join(
        f'<li class="{one.style}">{escape(one.name)} <b>{_summary(one, show, is_stacked)}</b></li>'
        for one in series
    )
    return (
        f'<figure class="chart"><figcaption>{escape(title)}</figcaption>'
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{escape(title)} by day; '
        f'the numbers are below">{ticks}{ends}{draw(series, columns, top)}</svg>'
        f"<ul>{legend}</ul></figure>"
    )


def _summary(one: Series, show: object, is_stacked: bool) -> str:
    values = [value for value in one.values if value is not None]
    assert callable(show)
    if not values:
        return "none"
    return str(show(sum(values))) if is_stacked else f"max {show(max(values))}"


def _y(value: float, top: float) -> float:
    return TOP + (HEIGHT - BOTTOM - TOP) * (1 - min(value / top, 1))


def _step(days: int) -> float:
    return (WIDTH - LEFT) / max(days, 1)


def _bars(series: Sequence[Series], columns: Sequence[Sequence[Value]], top: float) -> str:
    paths = {one.style: "" for one in series}
    step = _step(len(columns))
    for index, column in enumerate(columns):
        below, x = 0.0, LEFT + index * step + step * 0.1
        for one, value in zip(series, column, strict=True):
            if value:
                high, low = _y(below + value, top), _y(below, top)
                # Make every value above 0 visible, even a small one.
                high = min(high, low - 1.5)
                paths[one.style] += f"M{x:.1f} {low:.1f}V{high:.1f}h{step * 0.8:.1f}V{low:.1f}z"
                below += value
    return "".join(f'<path class="bar {style}" d="{d}"/>' for style, d in paths.items() if d)


def _lines(series: Sequence[Series], columns: Sequence[Sequence[Value]], top: float) -> str:
    step, drawn = _step(len(columns)), ""
    for one in series:
        path, is_down = "", False
        for index, value in enumerate(one.values):
            if value is None:
                is_down = False
                continue
            x, y = LEFT + (index + 0.5) * step, _y(value, top)
            # A single day between days without values is a dot, drawn as a line of length 0 with
            # round ends.
            path += f"{'L' if is_down else 'M'}{x:.1f} {y:.1f}" + ("" if is_down else "h0")
            is_down = True
        drawn += f'<path class="line {one.style}" d="{path}"/>' if path else ""
    return drawn
