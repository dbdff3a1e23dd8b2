"""Draws charts of a load generator run as SVG: messages/s over time, and latencies by percentile.

No plotting library is used, so that the load generator does not need one on a Raspberry Pi.
"""

import math
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from gateway.tools.bench.result import Result

WIDTH: Final = 860
HEIGHT: Final = 310
LEFT: Final = 70
PANEL_WIDTH: Final = 330
PANEL_HEIGHT: Final = 200
TOP: Final = 70
GAP: Final = 90
GRID_LINES: Final = 4

COLOURS: Final = ("#0b7285", "#d9480f")
STYLE: Final = (
    "text{font:12px system-ui,sans-serif;fill:#343a40}"
    ".title{font-size:15px;font-weight:600}.axis{fill:#868e96}"
    ".grid{stroke:#dee2e6}.line{fill:none;stroke-width:2;stroke-linejoin:round}"
)

Point = tuple[float, float]


def svg_of(result: Result, title: str) -> str:
    """Return an SVG document with the charts for a result."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">',
        f"<style>{STYLE}</style>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#fff"/>',
        f'<text class="title" x="{LEFT}" y="30">{escape(title)}</text>',
        *_throughput(result),
        *_latency(result),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _throughput(result: Result) -> Iterable[str]:
    points = [(seconds, rate) for seconds, rate in result.timeline]
    top = _round_up(max((rate for _, rate in points), default=1.0))
    end = max((seconds for seconds, _ in points), default=1.0)
    labels = [_number(top * line / GRID_LINES) for line in range(GRID_LINES + 1)]
    yield from _panel(LEFT, "messages/s", labels)
    ticks = [(share * PANEL_WIDTH, f"{share * end:.3g} s") for share in (0, 0.5, 1)]
    yield from _ticks(LEFT, ticks)
    yield _line(LEFT, [(x / end, y / top) for x, y in points], COLOURS[0])


def _latency(result: Result) -> Iterable[str]:
    """Yield the SVG elements of the chart that shows latencies by percentile.

    On the percentile axis, p0, p90, p99, p99.9 and p99.99 are equally spaced. The latency axis is
    logarithmic.
    """
    left = LEFT + PANEL_WIDTH + GAP
    curves = [
        (name, curve)
        for name, curve in (
            ("delivery", result.delivery_curve_ms),
            ("acknowledgement", result.acknowledgement_curve_ms),
        )
        if curve
    ]
    values = [max(value, 1e-3) for _, curve in curves for _, value in curve] or [1.0, 10.0]
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)) + 1e-9)
    yield from _panel(left, "latency, ms", [f"{10.0**step:g}" for step in range(low, high + 1)])
    names = ("p0", "p90", "p99", "p99.9", "p99.99")
    ticks = [(nines / 4 * PANEL_WIDTH, name) for nines, name in enumerate(names)]
    yield from _ticks(left, ticks)
    for index, (name, curve) in enumerate(curves):
        points = [
            (-math.log10(1 - share) / 4, (math.log10(max(value, 1e-3)) - low) / (high - low))
            for share, value in curve
        ]
        yield _line(left, points, COLOURS[index])
        yield (
            f'<text x="{left + 80 + 90 * index}" y="{TOP - 12}" style="fill:{COLOURS[index]}">'
            f"{name}</text>"
        )


def _panel(left: int, name: str, labels: Sequence[str]) -> Iterable[str]:
    yield f'<text x="{left}" y="{TOP - 12}">{name}</text>'
    for index, label in enumerate(labels):
        y = TOP + PANEL_HEIGHT * (1 - index / (len(labels) - 1))
        yield f'<line class="grid" x1="{left}" x2="{left + PANEL_WIDTH}" y1="{y}" y2="{y}"/>'
        yield f'<text class="axis" x="{left - 8}" y="{y + 4}" text-anchor="end">{label}</text>'


def _ticks(left: int, ticks: Iterable[tuple[float, str]]) -> Iterable[str]:
    for x, label in ticks:
        yield (
            f'<text class="axis" x="{left + x:.0f}" y="{TOP + PANEL_HEIGHT + 20}" '
            f'text-anchor="middle">{label}</text>'
        )


def _line(left: int, points: Sequence[Point], colour: str) -> str:
    """Return an SVG line through points in a chart. Their coordinates range from 0 to 1.

    `left` is the left edge of the chart in the SVG image.
    """
    path = " ".join(
        f"{left + PANEL_WIDTH * min(x, 1.0):.1f},{TOP + PANEL_HEIGHT * (1 - y):.1f}"
        for x, y in points
    )
    return f'<polyline class="line" stroke="{colour}" points="{path}"/>'


def _round_up(value: float) -> float:
    """Round up to 1, 2, 4, 8 or 10 times a power of ten, so that grid lines get short labels."""
    power = 10.0 ** math.floor(math.log10(max(value, 1.0)))
    return next(step * power for step in (1, 2, 4, 8, 10) if step * power >= value)


def _number(value: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"
