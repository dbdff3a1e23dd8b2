"""The history of values, as the REST interface returns it."""

from enum import IntEnum
from typing import Annotated

from pydantic import Field

from api.models.values import Count, FiniteNumber, Milliseconds, Reported


class StepSeconds(IntEnum):
    """Length of a time step in seconds: for the last hour, the last day or the last month."""

    HOUR = 5
    DAY = 60
    MONTH = 900


class SeriesName(Reported):
    name: str
    """`sensors/DEVICE/QUANTITY` or `gateway/NAME`."""
    unit: str
    """Unit in SenML's form (RFC 8428) if the sensor has such a unit; may be empty."""


class SeriesList(Reported):
    series: list[SeriesName]
    refused: Count
    """Readings that were not recorded since the page started.

    There were too many series, or the name of a series was too long.
    """
    problem: str | None
    """A sentence about why the history is incomplete or cannot be saved; null if it is neither."""


class HistoryPoint(Reported):
    time_ms: Milliseconds
    """Time at which the step begins."""
    low: FiniteNumber
    mean: FiniteNumber
    high: FiniteNumber
    last: FiniteNumber


class SeriesHistory(Reported):
    name: str
    unit: str
    points: list[HistoryPoint]
    """Points in ascending order of time. Steps without a reading have no point."""


class HistoryAnswer(Reported):
    step_seconds: Annotated[int, Field(ge=5)]
    from_ms: Milliseconds
    to_ms: Milliseconds
    series: list[SeriesHistory]
