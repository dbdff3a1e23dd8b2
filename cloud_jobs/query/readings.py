"""Queries of readings: the last reading of each quantity, or all readings of a day."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from deltalake.exceptions import TableNotFoundError

from cloud_jobs.tables.query_engine import READ_FAILURES, QueryEngine, Row, first_line_of
from cloud_jobs.tables.sql import quoted_text

_TABLE: Final = "sensor_readings"
_COLUMNS: Final = (
    "time, gateway, device, name, value, string_value, boolean_value, data_value, sum, unit, "
    "topic, clock"
)
_VALUES: Final = ("value", "string_value", "boolean_value", "data_value", "sum")
"""The columns for a reading's value; exactly one of them is set in a row."""
_ORDER: Final = "time DESC, delivered_at DESC, sequence DESC, position DESC"


class QueryError(RuntimeError):
    """Error that is raised if the tables cannot be read. The message explains the fix."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """Filters for readings. A filter that is None matches every reading."""

    gateway: str | None = None
    device: str | None = None
    name: str | None = None
    """SenML name (`kettle/temperature`) or quantity (`temperature`)."""


def last_readings(root: str, chosen: Chosen, *, days: int, limit: int) -> list[Row]:
    """Return the last reading of each quantity that has readings on the searched days.

    Args:
        root: directory or URL of the tables.
        chosen: filters for the readings.
        days: number of days to search, counted back from the newest reading.
        limit: maximum number of rows, ordered by gateway, device and name.

    Raises QueryError if the tables do not exist or cannot be read.
    """

    def read(engine: QueryEngine) -> list[Row]:
        newest = engine.rows(f"SELECT max(day) AS day FROM {_TABLE}")[0]["day"]
        if newest is None:
            return []
        first = newest - datetime.timedelta(days=days - 1)
        conditions = [f"day >= DATE '{first}'", *_conditions(chosen)]
        return engine.rows(
            f"SELECT {_COLUMNS} FROM (SELECT *, row_number() OVER (PARTITION BY gateway, device, "
            f"name ORDER BY {_ORDER}) AS newness FROM {_TABLE} WHERE {' AND '.join(conditions)}) r "
            f"WHERE newness = 1 ORDER BY gateway, device, name LIMIT {limit}"
        )

    return _read(root, read)


def readings_of_day(root: str, chosen: Chosen, *, day: datetime.date, limit: int) -> list[Row]:
    """Return the readings of a UTC day, ordered by time.

    Args:
        root: directory or URL of the tables.
        chosen: filters for the readings.
        day: the day of the measurement. A reading may have been delivered later.
        limit: maximum number of rows.

    Raises QueryError if the tables do not exist or cannot be read.
    """
    after = day + datetime.timedelta(days=1)
    # A partition is named after the first day of a segment, so readings can be in the one before.
    conditions = [
        f"day >= DATE '{day - datetime.timedelta(days=1)}'",
        f"time >= {_timestamp(day)}",
        f"time < {_timestamp(after)}",
        *_conditions(chosen),
    ]
    return _read(
        root,
        lambda engine: engine.rows(
            f"SELECT {_COLUMNS} FROM {_TABLE} WHERE {' AND '.join(conditions)} "
            f"ORDER BY time, gateway, device, name LIMIT {limit}"
        ),
    )


def _read(root: str, read: Callable[[QueryEngine], list[Row]]) -> list[Row]:
    try:
        return [_with_one_value(row) for row in read(QueryEngine(root, [_TABLE]))]
    except TableNotFoundError as error:
        raise QueryError(f"no readings in {root}: run `oncegate ingest` first") from error
    except READ_FAILURES as error:
        raise QueryError(
            f"the tables in {root} cannot be read ({first_line_of(error)}): check --tables, and "
            "that this process may read them"
        ) from error


def _conditions(chosen: Chosen) -> list[str]:
    conditions = []
    if chosen.gateway is not None:
        conditions.append(f"gateway = {quoted_text(chosen.gateway)}")
    if chosen.device is not None:
        conditions.append(f"device = {quoted_text(chosen.device)}")
    if chosen.name is not None:
        name = quoted_text(chosen.name)
        conditions.append(f"(name = {name} OR quantity = {name} OR name = device || '/' || {name})")
    return conditions


def _timestamp(day: datetime.date) -> str:
    return f"arrow_cast('{day}T00:00:00Z', 'Timestamp(Microsecond, Some(\"UTC\"))')"


def _with_one_value(row: Row) -> Row:
    """Return a row with one column `value` instead of a separate column for each type of value."""
    value = next((row[name] for name in _VALUES if row[name] is not None), None)
    others = {name: each for name, each in row.items() if name not in _VALUES}
    return {**others, "value": value}
