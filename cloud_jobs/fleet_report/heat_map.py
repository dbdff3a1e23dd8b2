"""A heat map with a coloured cell per gateway and day.

All cells of the same colour are drawn as one SVG path. This keeps the file small, even for a
thousand gateways.
"""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from cloud_jobs.fleet_report.limits import NAME_CHARACTERS_MAX

NAMED_MAX = 60
"""Maximum number of gateways whose rows have names. More gateways are drawn as columns of thin
rows."""
COLUMNS = 4
Row = Mapping[str, Any]
_NONE = 5
_CLASSES = ("0", "1", "2", "3", "4", "")
"""Suffixes of the CSS classes of the levels. The last one is for cells without a value."""


@dataclass(frozen=True, slots=True)
class Measure:
    """A value that a heat map can show for each gateway and day, and its division into levels.

    `steps` contains the lowest value of each of the levels 1 to 4. Level 0 is below the first step.
    """

    key: str
    name: str
    value: Callable[[Row], float | None]
    steps: tuple[float, float, float, float]
    legend: tuple[str, str, str, str, str]
    palette: str
    """`trouble` if high levels are bad; `amount` if they only mean large values."""

    def level(self, value: float) -> int:
        return sum(value >= step for step in self.steps)


def _verdict(row: Row) -> float | None:
    return {"ok": 0.0, "inconclusive": 2.0, "violation": 4.0}.get(row["verdict"])


def _of(name: str, factor: float = 1.0) -> Callable[[Row], float | None]:
    return lambda row: None if row[name] is None else row[name] * factor


MEASURES = (
    Measure("audit", "Audit", _verdict, (1, 2, 3, 4),
            ("ok", "", "inconclusive", "", "violation"), "trouble"),
    Measure("messages", "Messages", _of("messages"), (100, 1e3, 1e4, 1e5),
            ("< 100", "100", "1,000", "10,000", "100,000"), "amount"),
    Measure("latency", "Delivery p99", _of("delivery_p99_ms", 1e-3), (0.1, 1, 10, 60),
            ("< 0.1 s", "0.1 s", "1 s", "10 s", "1 min"), "trouble"),
    Measure("sessions", "Sessions lost", _of("sessions_lost"), (1, 5, 20, 100),
            ("none", "1", "5", "20", "100"), "trouble"),
    Measure("offline", "Offline", _of("offline_seconds"), (1, 60, 3_600, 21_600),
            ("none", "1 s", "1 min", "1 h", "6 h"), "trouble"),
    Measure("lag", "Upload lag", _of("lag_max_seconds"), (3_600, 21_600, 86_400, 604_800),
            ("< 1 h", "1 h", "6 h", "1 day", "1 week"), "trouble"),
    Measure("gaps", "Missing events", _of("missing"), (1, 100, 1e4, 1e6),
            ("none", "1", "100", "10,000", "1 M"), "trouble"),
)  # fmt: skip


def heat_maps(
    gateways: Sequence[str],
    days: Sequence[datetime.date],
    cells: Sequence[Row],
    names: Sequence[str],
) -> str:
    """Return the HTML of one heat map per measure, with tooltips. One map is shown at a time.

    Args:
        gateways, days: ids of the gateways (the rows) and dates (the columns).
        cells: rows of the table `gateway_health`, joined with the columns of other gold tables.
        names: names to show for the gateways, in the same order as `gateways`.
    """
    place = {name: index for index, name in enumerate(gateways)}
    column = {day: index for index, day in enumerate(days)}
    switches = "".join(
        f'<label><input type="radio" name="measure" value="{m.key}" id="show-{m.key}"'
        f"{' checked' if m is MEASURES[0] else ''}><span>{m.name}</span></label>"
        for m in MEASURES
    )
    grid = _Grid(names, days)
    maps, data = "", {}
    for measure in MEASURES:
        values = _values(measure, cells, place, column)
        maps += grid.drawn(measure, values)
        data[measure.key] = {
            str(at): float(f"{value:.4g}") for at, value in values.items() if value
        }
    texts = {"gateways": [name[:NAME_CHARACTERS_MAX] for name in names],
             "days": [day.isoformat() for day in days], "values": data,
             "block": grid.block, "width": grid.width, "cell": [grid.cell, grid.row],
             "left": grid.left, "top": grid.top,
             "absent": _absent(cells, place, column)}  # fmt: skip
    # `</script>` in a name must not end the script element.
    safe = json.dumps(texts, separators=(",", ":")).replace("<", "\\u003c")
    return (
        f'<fieldset class="switch"><legend>Show</legend>{switches}</fieldset>'
        f'<div class="maps" id="maps">{maps}</div><p id="pointed" role="status">&nbsp;</p>'
        f'<script type="application/json" id="data">{safe}</script>'
    )


def _values(
    measure: Measure,
    cells: Sequence[Row],
    place: Mapping[str, int],
    column: Mapping[datetime.date, int],
) -> dict[int, float]:
    """Return the values of a measure, each with the index of its cell in the heat map.

    Cells are numbered row by row. Cells without a value are omitted. `place` maps gateways to row
    numbers, and `column` maps days to column numbers.
    """
    values: dict[int, float] = {}
    for row in cells:
        # A day without gaps has no value in this column.
        value = measure.value(row)
        if value is None and measure.key == "gaps":
            value = 0.0
        if value is not None:
            values[place[row["gateway"]] * len(column) + column[row["day"]]] = value
    return values


def _absent(
    cells: Sequence[Row], place: Mapping[str, int], column: Mapping[datetime.date, int]
) -> list[int]:
    """Return the indices of the heat map's cells that have no events.

    Cells are numbered row by row. `place` maps gateways to rows, and `column` maps days to columns.
    """
    there = {place[row["gateway"]] * len(column) + column[row["day"]] for row in cells}
    return [at for at in range(len(place) * len(column)) if at not in there]


class _Grid:
    """Layout of a heat map: one or more blocks of gateways, with a column for each day.

    Several blocks are placed side by side.
    """

    def __init__(self, gateways: Sequence[str], days: Sequence[datetime.date]) -> None:
        self._gateways, self._days = gateways, days
        self.is_named = len(gateways) <= NAMED_MAX
        self._blocks = 1 if self.is_named else COLUMNS
        self.block = max(math.ceil(len(gateways) / self._blocks), 1)
        self.left, self.top = (170, 18) if self.is_named else (34, 18)
        self.row = 18 if self.is_named else 4
        self.cell = (1200 / self._blocks - self.left - 12) / len(days)
        self.width = 1200 / self._blocks

    def drawn(self, measure: Measure, values: Mapping[int, float]) -> str:
        paths = dict.fromkeys(_CLASSES, "")
        gap = 1.5 if self.is_named else 0.4
        levels = {at: measure.level(value) for at, value in values.items()}
        for at, count, level in self._runs(levels):
            index, day = divmod(at, len(self._days))
            x, y = self._corner(index)
            wide = count * self.cell - gap
            paths[_CLASSES[level]] += (
                f"M{x + day * self.cell:.1f} {y}h{wide:.1f}v{self.row - gap:.1f}h{-wide:.1f}z"
            )
        drawn = "".join(
            f'<path class="{kind and measure.palette}{kind or "none"}" d="{path}"/>'
            for kind, path in paths.items()
            if path
        )
        legend = "".join(
            f'<li class="{measure.palette}{n}">{escape(text)}</li>'
            for n, text in enumerate(measure.legend)
            if text
        )
        height = self.top + self.block * self.row + 4
        return (
            f'<figure class="map map-{measure.key}"><figcaption>{measure.name}'
            f'<ul class="levels">{legend}<li class="none">no data</li></ul></figcaption>'
            f'<svg viewBox="0 0 1200 {height}" role="img" aria-label="{measure.name} of '
            f'{len(self._gateways)} gateways by day; the table below has the sums">'
            f"{self._labels()}{drawn}</svg></figure>"
        )

    def _runs(self, levels: Mapping[int, int]) -> Iterator[tuple[int, int, int]]:
        """Yield runs of adjacent cells that have the same level.

        Each run is a tuple: its first cell, its number of cells, and its level. A cell without a
        value has the level _NONE. If the rows are high enough to show names, each run has only one
        cell.
        """
        begin, count, level = 0, 0, -1
        for at in range(len(self._gateways) * len(self._days)):
            found = levels.get(at, _NONE)
            is_next = at == begin + count and at % len(self._days) != 0
            if count and is_next and found == level and not self.is_named:
                count += 1
                continue
            if count:
                yield begin, count, level
            begin, count, level = at, 1, found
        if count:
            yield begin, count, level

    def _corner(self, index: int) -> tuple[float, int]:
        block, row = divmod(index, self.block)
        return block * self.width + self.left, self.top + row * self.row

    def _labels(self) -> str:
        texts = ""
        for block in range(self._blocks):
            x = block * self.width + self.left
            right = x + len(self._days) * self.cell
            texts += f'<text x="{x:.0f}" y="12">{self._days[0]:%d %b}</text>'
            texts += f'<text x="{right:.0f}" y="12" text-anchor="end">{self._days[-1]:%d %b}</text>'
        for index, name in enumerate(self._gateways):
            if self.is_named or index % self.block % 25 == 0:
                x, y = self._corner(index)
                text = name[:24] if self.is_named else str(index + 1)
                texts += (
                    f'<text x="{x - 6:.0f}" y="{y + self.row / 2 + 4:.0f}" text-anchor="end">'
                    f"{escape(text)}</text>"
                )
        return texts
