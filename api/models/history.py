"""The history of values, as the REST interface returns it."""

from enum import IntEnum
from typing import Annotated

from pydantic import Field

from api.models.values import Count, FiniteNumber, Milliseconds, Reported


class StepSeconds(IntEnum):
    """Length of a step: of the last hour, day and month."""

    HOUR = 5
    DAY = 60
    MONTH = 900


class SeriesName(Reported):
    name: str
    """`sensors/DEVICE/QUANTITY` or `gateway/NAME`."""
    unit: str
    """In SenML's form (RFC 8428) where the sensor has such a unit; may be empty."""


class SeriesList(Reported):
    series: list[SeriesName]
    refused: Count
    """Readings that were not recorded since the page started, because there were too many series
    or a name was too long."""
    problem: str | None
    """Why the history is not complete or cannot be saved, in a sentence."""


class HistoryPoint(Reported):
    time_ms: Milliseconds
    """Begin of the step."""
    low: FiniteNumber
    mean: FiniteNumber
    high: FiniteNumber
    last: FiniteNumber


class SeriesHistory(Reported):
    name: str
    unit: str
    points: list[HistoryPoint]
    """In rising order of time. Steps without a reading have no point."""


class HistoryAnswer(Reported):
    step_seconds: Annotated[int, Field(ge=5)]
    from_ms: Milliseconds
    to_ms: Milliseconds
    series: list[SeriesHistory]
