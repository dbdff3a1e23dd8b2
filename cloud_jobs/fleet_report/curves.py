"""Data for curves that show readings by day and by quarter hour on the gateways' pages.

The values of a curve are stored as a string of comma-separated numbers, with one field per time
slot. The field of a slot without a value is empty. JSON objects with the same values would be five
times as long. A script on the page draws the curves, and saves them as CSV.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from cloud_jobs.fleet_report.limits import (
    QUARTER_DAYS_MAX,
    QUARTER_POINTS_MAX,
    SERIES_PER_GATEWAY_MAX,
)
from cloud_jobs.fleet_report.sensors import Series, among
from cloud_jobs.fleet_report.units import symbol_of
from cloud_jobs.tables.query_engine import QueryEngine, Row
from cloud_jobs.tables.sql import quoted_text

QUARTER_SECONDS: Final = 900
_DAY_SECONDS: Final = 86_400
_QUARTERS_PER_DAY: Final = _DAY_SECONDS // QUARTER_SECONDS
Packed = dict[str, Any]
_Key = tuple[str | None, str]


@dataclass(frozen=True, slots=True)
class _Table:
    """A table of readings, with the names of its time column and of the columns to read.

    Each row of the table summarises the readings of `seconds` seconds.
    """

    name: str
    time: str
    seconds: int
    columns: tuple[str, ...]


_DAYS: Final = _Table(
    "sensor_days", "day", _DAY_SECONDS,
    ("readings", "minimum", "mean", "maximum", "increase", "missing", "repeats", "resets"),
)  # fmt: skip
_QUARTERS: Final = _Table(
    "sensor_quarters", "begin", QUARTER_SECONDS, ("minimum", "mean", "maximum", "increase")
)
_COUNTS: Final = ("missing", "repeats", "resets")
_DIGITS, _DIGITS_LARGE, _LARGE = 6, 9, 1e5
"""Significant digits of numbers: more than a chart shows or a sensor measures. Counters have large
values and get more digits."""


@dataclass(frozen=True, slots=True)
class Span:
    """The range of days (in UTC) that the curves show. `first` and `last` are both included."""

    first: datetime.date
    last: datetime.date
    quarter_days: int
    """Number of newest days that are also shown by quarter hour."""


def quarter_days_of(series: int) -> int:
    """Return the number of days for which the gateways' pages show values by quarter hour.

    `series` is the number of series of all gateways. The more series there are, the fewer days are
    shown, because the total number of values in the report is limited.
    """
    fitting = QUARTER_POINTS_MAX // max(series * _QUARTERS_PER_DAY, 1)
    return max(1, min(fitting, QUARTER_DAYS_MAX))


def curves_of(
    tables: QueryEngine, series: dict[str, list[Series]], span: Span
) -> dict[str, Packed]:
    """Return the curves for each gateway's page, in the form that the page's script reads.

    Raises one of the exceptions in READ_FAILURES if a query fails.
    """
    if not series:
        return {}
    begin = span.last - datetime.timedelta(days=span.quarter_days - 1)
    days = _Slots(tables, _DAYS, series, span.first, span.last)
    quarters = _Slots(tables, _QUARTERS, series, begin, span.last)
    return {gateway: _packed(gateway, found, days, quarters) for gateway, found in series.items()}


class _Slots:
    """Readings of some gateways, read from one table and grouped by time slot."""

    def __init__(
        self,
        tables: QueryEngine,
        table: _Table,
        series: dict[str, list[Series]],
        first: datetime.date,
        last: datetime.date,
    ) -> None:
        self._table = table
        self._start = datetime.datetime(first.year, first.month, first.day, tzinfo=datetime.UTC)
        slot = (f"CAST((date_part('epoch', \"{table.time}\") - {self._start.timestamp():.0f}) "
                f"/ {table.seconds} AS BIGINT)")  # fmt: skip
        fields = "".join(f", '{name}', \"{name}\"" for name in table.columns)
        self._cells: dict[str, dict[_Key, list[Row]]] = {}
        # The first day of 2020 also contains all earlier times. Times of a broken clock would make
        # the chart span decades, so slots below 0 are omitted. An array of records is used because
        # sorted arrays of several columns take thirty times as long.
        for row in tables.rows(
            f"SELECT gateway, device, name, array_agg(named_struct('slot', {slot}{fields})) "
            f"AS cells FROM {table.name} WHERE day BETWEEN DATE '{first}' AND DATE '{last}' "
            f"AND {slot} >= 0 AND {_row_filter(series)} GROUP BY gateway, device, name"
        ):
            found = self._cells.setdefault(row["gateway"], {})
            found[row["device"], row["name"] or ""] = row["cells"]

    def time_of(self, slot: int) -> datetime.datetime:
        """Return the time at which a slot begins."""
        return self._start + datetime.timedelta(seconds=self._table.seconds * slot)

    def range_of(self, gateway: str, keys: Sequence[_Key]) -> tuple[int, int]:
        """Return the first time slot with a value, and the number of slots up to the last one.

        Only the gateway's series in `keys` are considered. If they have no values, both results
        are 0.
        """
        cells = self._cells.get(gateway, {})
        shown = [cell["slot"] for key in keys for cell in cells.get(key, ())]
        if not shown:
            return 0, 0
        return min(shown), max(shown) - min(shown) + 1

    def columns_of(self, gateway: str, key: _Key, first: int, count: int) -> dict[str, str]:
        """Return a series as one string of comma-separated values per column.

        The strings cover `count` time slots, beginning with the slot `first`. Columns without
        values are omitted. Minimum and maximum are omitted if both equal the mean.
        """
        cells = self._cells.get(gateway, {}).get(key, [])
        found = {
            name: _column(cells, name, first, count)
            for name in self._table.columns
            if any(cell[name] or (cell[name] == 0 and name not in _COUNTS) for cell in cells)
        }
        if found.get("minimum") == found.get("mean") == found.get("maximum"):
            found.pop("minimum", None)
            found.pop("maximum", None)
        return found


def _row_filter(series: dict[str, list[Series]]) -> str:
    """Return an SQL condition that selects the rows of the gateways in `series`.

    A single gateway can have more series than a page shows. For such a gateway, the condition
    selects only rows with the names of the shown series.
    """
    full = [each for found in series.values() for each in found
            if len(found) >= SERIES_PER_GATEWAY_MAX]  # fmt: skip
    if not full or len(series) > 1:
        return among(series)
    names = ", ".join(sorted({quoted_text(each.name) for each in full}))
    return f"{among(series)} AND name IN ({names})"


def _packed(gateway: str, series: list[Series], days: _Slots, quarters: _Slots) -> Packed:
    keys = [(each.device, each.name) for each in series]
    first_day, day_count = days.range_of(gateway, keys)
    first_quarter, quarter_count = quarters.range_of(gateway, keys)
    return {
        "gateway": gateway,
        "days": [days.time_of(first_day).date().isoformat(), day_count],
        "quarters": [f"{quarters.time_of(first_quarter):%Y-%m-%dT%H:%M}Z", quarter_count],
        "series": [
            {
                "sensor": each.sensor,
                "quantity": each.quantity,
                "name": each.name,
                "unit": symbol_of(each.unit),
                "counter": each.increase is not None,
                "d": days.columns_of(gateway, key, first_day, day_count),
                "q": quarters.columns_of(gateway, key, first_quarter, quarter_count),
            }
            for each, key in zip(series, keys, strict=True)
        ],
    }


def _column(cells: Sequence[Row], name: str, first: int, count: int) -> str:
    texts = [""] * count
    for cell in cells:
        value = cell[name]
        if value is not None and math.isfinite(value):
            digits = _DIGITS if abs(value) < _LARGE else _DIGITS_LARGE
            texts[cell["slot"] - first] = f"{value:.{digits}g}"
    return ",".join(texts)
