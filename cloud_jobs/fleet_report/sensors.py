"""Sensors of a fleet, read from the gold tables `sensor_days` and `sensor_quarters`.

A series consists of all readings with one SenML name from one device at one gateway. Readings are
summarised over the days that the report shows.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cloud_jobs.fleet_report.limits import (
    LINES_MAX,
    SERIES_PER_GATEWAY_MAX,
    SILENT_INTERVALS,
    SILENT_SECONDS,
    SILENT_SENSOR_SECONDS_MIN,
)
from cloud_jobs.tables.query_engine import QueryEngine, Row
from cloud_jobs.tables.sql import quoted_text

SENSOR_TABLES: Final = ("sensor_days", "sensor_quarters")
SILENCE_RULE: Final = (
    f"A sensor is silent when its last reading is older than {SILENT_INTERVALS} of its usual "
    f"intervals (at least {SILENT_SENSOR_SECONDS_MIN // 3600} hour) before its gateway's last "
    f"event, or older than a day. One that sends less often than every 8 hours has "
    f"{SILENT_INTERVALS} intervals in place of the day."
)
_QUALITIES: Final = ("synchronised", "corrected", "unknown")
_RANK: Final = "CASE time_quality WHEN 'synchronised' THEN 0 WHEN 'corrected' THEN 1 ELSE 2 END"
_MISSING: Final = "max(missing)"
"""SQL for the number of missing readings of a sensor. Each quantity in the frame after a gap counts
them, so the maximum is used instead of the sum."""

_SERIES: Final = """
WITH seen AS (
  SELECT gateway, max(last_time) AS seen FROM boots WHERE last_time <= {ahead} GROUP BY gateway
), summed AS (
  SELECT gateway, device, name, sum(readings) AS readings, sum(missing) AS missing,
         sum(repeats) AS repeats, sum(increase) AS increase, sum(resets) AS resets,
         min(minimum) AS minimum, max(maximum) AS maximum,
         sum(mean * readings) / sum(CASE WHEN mean IS NOT NULL THEN readings END) AS mean,
         last_value("last" ORDER BY day) AS "last",
         last_value(last_text ORDER BY day) AS last_text,
         last_value(unit ORDER BY day) AS unit,
         max(CASE WHEN last_time <= {ahead} THEN last_time END) AS last_time,
         median(CASE WHEN readings > 1 THEN
                (date_part('epoch', last_time) - date_part('epoch', first_time)) / (readings - 1)
                END) AS within_days,
         (date_part('epoch', max(last_time)) - date_part('epoch', min(first_time)))
         / nullif(sum(readings) - 1, 0) AS over_all,
         max({rank}) AS quality
  FROM sensor_days
  WHERE day BETWEEN DATE '{first}' AND DATE '{last}'{chosen}
  GROUP BY gateway, device, name
), series AS (
  SELECT s.*, coalesce(device, name) AS sensor, coalesce(within_days, over_all) AS usual,
         g.seen AS seen
  FROM summed s LEFT JOIN seen g ON g.gateway = s.gateway
), judged AS (
  SELECT *, CASE
    WHEN date_part('epoch', last_time) < {now} - greatest(coalesce(usual, 0) * {times}, {day})
      OR date_part('epoch', last_time) < date_part('epoch', seen)
         - greatest(coalesce(usual * {times}, {day}), {least}) THEN 1 ELSE 0 END AS is_silent
  FROM series
)
"""


@dataclass(frozen=True, slots=True)
class Series:
    """Summary of a sensor's readings of one quantity, over the days that the report shows.

    If the readings are strings, the fields for numeric values are None.
    """

    gateway: str
    device: str | None
    name: str
    unit: str | None
    readings: int
    last: float | None
    last_text: str | None
    last_time: datetime.datetime | None
    minimum: float | None
    mean: float | None
    maximum: float | None
    missing: int
    repeats: int
    increase: float | None
    """Sum of a counter's increases, or None for other quantities."""
    resets: int
    usual: float | None
    """Usual number of seconds between two readings, or None if there is only one reading."""
    time_quality: str
    is_silent: bool

    @property
    def sensor(self) -> str:
        """The device, or the series name if the client did not name a device."""
        return self.name if self.device is None else self.device

    @property
    def quantity(self) -> str:
        """The quantity: the part of the series name after the device."""
        return self.name.removeprefix(f"{self.device}/") if self.device else self.name


@dataclass(frozen=True, slots=True)
class SensorFaults:
    """Sensors with problems.

    For each kind of problem, one field lists the worst sensors, and one field contains the number
    of all sensors that have the problem.
    """

    silent: list[Row]
    silent_count: int
    missing: list[Row]
    missing_count: int
    resets: list[Row]
    resets_count: int


NO_FAULTS: Final = SensorFaults([], 0, [], 0, [], 0)


class SensorReader:
    """Reader of the sensors' tables.

    All queries of a reader cover the same days and use the same current time.
    """

    def __init__(
        self,
        tables: QueryEngine,
        *,
        first: datetime.date,
        last: datetime.date,
        now: datetime.datetime,
    ) -> None:
        self._tables = tables
        self._first, self._last, self._now = first, last, now

    def faults(self) -> SensorFaults:
        """Return the fleet's sensors with problems, worst first.

        Raises one of the exceptions in READ_FAILURES if a query fails.
        """
        quiet = self._now - datetime.timedelta(seconds=SILENT_SECONDS)
        # Sensors of a silent gateway are not reported, because the gateway is the cause.
        awake = f"date_part('epoch', seen) >= {quiet.timestamp():.0f}"
        silent, silent_count = self._faulty(
            f"is_silent = 1 AND {awake}",
            "max(last_time) AS last_time, max(usual) AS usual",
            "3 DESC",
        )
        missing, missing_count = self._faulty("missing > 0", f"{_MISSING} AS missing", "3 DESC")
        resets, resets_count = self._faulty("resets > 0", "sum(resets) AS resets", "3 DESC")
        return SensorFaults(silent, silent_count, missing, missing_count, resets, resets_count)

    def counts_of(self, gateways: Sequence[str]) -> dict[str, Row]:
        """Return one row per gateway with counts of its sensors, series and readings.

        Silent sensors, missing readings and repeated readings are counted as well.
        """
        if not gateways:
            return {}
        rows = self._tables.rows(
            f"{self._judged(gateways)} SELECT gateway, count(*) AS sensors, sum(series) AS series, "
            "sum(is_silent) AS sensors_silent, sum(is_untimed) AS sensors_untimed, "
            "sum(missing) AS own_missing, sum(repeats) AS repeats, sum(readings) AS readings "
            "FROM (SELECT gateway, count(*) AS series, max(is_silent) AS is_silent, "
            "max(CASE WHEN quality = 2 THEN 1 ELSE 0 END) AS is_untimed, "
            f"coalesce({_MISSING}, 0) AS missing, coalesce(sum(repeats), 0) AS repeats, "
            "sum(readings) AS readings FROM judged GROUP BY gateway, sensor) s GROUP BY gateway"
        )
        return {row["gateway"]: row for row in rows}

    def series_of(self, gateways: Sequence[str]) -> dict[str, list[Series]]:
        """Return the series of gateways, ordered by device and name.

        At most SERIES_PER_GATEWAY_MAX series are returned for each gateway. If there are more,
        series with problems are preferred.
        """
        rows = self._tables.rows(
            f"{self._judged(gateways)}, numbered AS (SELECT *, row_number() OVER (PARTITION BY "
            "gateway ORDER BY is_silent DESC, coalesce(missing, 0) + coalesce(resets, 0) DESC, "
            "device, name) AS place FROM judged) SELECT * FROM numbered "
            f"WHERE place <= {SERIES_PER_GATEWAY_MAX} ORDER BY gateway, device, name"
        )
        found: dict[str, list[Series]] = {}
        for row in rows:
            found.setdefault(row["gateway"], []).append(_series(row))
        return found

    def _faulty(self, condition: str, columns: str, order: str) -> tuple[list[Row], int]:
        """Return the sensors for which an SQL condition is true, and their total number.

        The condition must be true for at least one series of the sensor. At most LINES_MAX sensors
        are returned. `columns` is SQL for additional columns, and `order` is SQL for the sort
        order.
        """
        judged = self._judged(None)
        grouped = f"FROM judged WHERE {condition} GROUP BY gateway, sensor"
        rows = self._tables.rows(
            f"{judged} SELECT gateway, sensor, {columns}, max(device) AS device, "
            "array_agg(DISTINCT name) AS names, max(seen) AS seen "
            f"{grouped} ORDER BY {order}, gateway, sensor LIMIT {LINES_MAX}"
        )
        if len(rows) < LINES_MAX:
            return rows, len(rows)
        count = self._tables.rows(f"{judged} SELECT count(*) AS n FROM (SELECT gateway {grouped})")
        return rows, int(count[0]["n"])

    def _judged(self, gateways: Iterable[str] | None) -> str:
        tomorrow = self._now + datetime.timedelta(days=1)
        chosen = "" if gateways is None else f" AND {among(gateways)}"
        return _SERIES.format(
            first=self._first, last=self._last, chosen=chosen, rank=_RANK,
            ahead=timestamp(tomorrow), now=f"{self._now.timestamp():.0f}",
            times=SILENT_INTERVALS, day=SILENT_SECONDS, least=SILENT_SENSOR_SECONDS_MIN,
        )  # fmt: skip


def among(gateways: Iterable[str]) -> str:
    """Return an SQL condition that is true if the row belongs to one of the gateways."""
    return f"gateway IN ({', '.join(quoted_text(name) for name in gateways)})"


def timestamp(time: datetime.datetime) -> str:
    """Return a UTC time as an SQL expression that can be compared with the tables' times."""
    return f"arrow_cast('{time:%Y-%m-%dT%H:%M:%S}Z', 'Timestamp(Microsecond, Some(\"UTC\"))')"


def _series(row: dict[str, Any]) -> Series:
    return Series(
        gateway=row["gateway"],
        device=row["device"],
        name=row["name"] or "",
        unit=row["unit"],
        readings=row["readings"] or 0,
        last=row["last"],
        last_text=row["last_text"],
        last_time=row["last_time"],
        minimum=row["minimum"],
        mean=row["mean"],
        maximum=row["maximum"],
        missing=row["missing"] or 0,
        repeats=row["repeats"] or 0,
        increase=row["increase"],
        resets=row["resets"] or 0,
        usual=row["usual"],
        time_quality=_QUALITIES[row["quality"]],
        is_silent=bool(row["is_silent"]),
    )
