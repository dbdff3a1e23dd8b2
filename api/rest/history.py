"""REST routes for the history: the list of series, and their points as JSON or CSV."""

import csv
import io
import time
from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, HTTPException, Query, Request, Response

from api import limits
from api.history.history import Curve, History
from api.history.rings import MONTH, Ring, ring_for
from api.login.admission import VIEWERS
from api.models.history import (
    HistoryAnswer,
    HistoryPoint,
    SeriesHistory,
    SeriesList,
    SeriesName,
    StepSeconds,
)
from api.models.values import Milliseconds
from api.preferences import preference_for
from api.problems import described
from api.rest.query_parameters import refuse_unknown
from api.wording import iso_of

history_rest = APIRouter(
    prefix="/api/v1",
    tags=["history"],
    dependencies=[Depends(VIEWERS), Depends(refuse_unknown)],
    responses=described(401, 403, 422),
)

_CSV: Final = "text/csv"
_COLUMNS: Final = ("time", "series", "unit", "low", "mean", "high", "last")
_EITHER: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The points, as JSON, or as CSV with `format=csv` or `Accept: text/csv`.",
        "content": {_CSV: {"schema": {"type": "string"}}},
    }
}


def history_of(request: Request) -> History:
    """Return this process's history."""
    history = request.app.state.history
    assert isinstance(history, History)
    return history


@history_rest.get("/history/series", summary="Series of the history")
async def series(request: Request) -> SeriesList:
    """List the series that are recorded or have points on disk, sorted by name."""
    history = history_of(request)
    return SeriesList(
        series=[SeriesName(name=name, unit=unit) for name, unit in history.names().items()],
        refused=history.refused,
        problem=history.problem,
    )


_Series = Annotated[
    list[str],
    Query(
        min_length=1,
        max_length=limits.SERIES_PER_REQUEST_MAX,
        description="Name of a series; may be given several times.",
    ),
]
_From = Annotated[
    Milliseconds | None,
    Query(alias="from", description="Milliseconds since 1970; default: an hour before `to`."),
]
_To = Annotated[Milliseconds | None, Query(alias="to", description="As `from`; default: now.")]
_Step = Annotated[
    StepSeconds | None,
    Query(description="Seconds of a step; default: the finest that goes back to `from`."),
]
_Format = Annotated[
    Literal["json", "csv"] | None, Query(description="Default: what `Accept` prefers.")
]


@history_rest.get(
    "/history",
    summary="Values of the last hour, day or month",
    responses={**_EITHER, **described(404)},
    response_model=HistoryAnswer,
)
async def history(
    request: Request,
    *,
    series: _Series,
    from_ms: _From = None,
    to_ms: _To = None,
    step: _Step = None,
    format: _Format = None,
) -> HistoryAnswer | Response:
    """Return the lowest, mean, highest and last value of each time step, for each given series.

    The last hour has steps of 5 seconds, the last day steps of 60 seconds, and the last 31 days
    steps of 900 seconds. A step without a reading has no point. For audits, use the session log
    instead of the history.
    """
    kept = history_of(request)
    now_ms = kept.now_ms or int(time.time() * 1000)
    to_ms = now_ms if to_ms is None else to_ms
    from_ms = max(0, to_ms - 3_600_000) if from_ms is None else from_ms
    from_ms = max(from_ms, now_ms - 1000 * MONTH.span_seconds)
    ring = ring_for(step_seconds=step, span_seconds=(now_ms - from_ms) / 1000)
    curves = await curves_of(kept, series, ring, from_ms=from_ms, to_ms=to_ms)
    if format == "csv" or (format is None and _prefers_csv(request)):
        return csv_response(curves)
    return HistoryAnswer(
        step_seconds=ring.step_seconds,
        from_ms=min(from_ms, to_ms),
        to_ms=to_ms,
        series=[
            SeriesHistory(name=curve.name, unit=curve.unit, points=_points_of(curve))
            for curve in curves
        ],
    )


async def curves_of(
    history: History, names: list[str], ring: Ring, *, from_ms: int, to_ms: int
) -> list[Curve]:
    """Return the points of the named series. A series that is named twice is returned once.

    Raises HTTPException if a series does not exist.
    """
    known = history.names()
    for name in names:
        if name not in known:
            shown = name[: limits.SHOWN_CHARACTERS_MAX]
            raise HTTPException(404, f"There is no series {shown!a}.")
    return [
        await history.curve(name, ring, from_ms=from_ms, to_ms=to_ms)
        for name in dict.fromkeys(names)
    ]


def csv_response(curves: list[Curve]) -> Response:
    """Return points as CSV, one point per line. Lines are grouped by series and sorted by time."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(_COLUMNS)
    for curve in curves:
        for step, low, mean, high, last in curve.points:
            series = (_cell(curve.name), _cell(curve.unit))
            time = iso_of(step * curve.ring.step_ms)
            writer.writerow([time, *series, low, shortened(mean), high, last])
    headers = {"Content-Disposition": 'attachment; filename="history.csv"'}
    return Response(text.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)


def _cell(text: str) -> str:
    """Return the text of a CSV cell.

    An apostrophe is put before a text that a spreadsheet could interpret as a formula.
    """
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text


def shortened(mean: float) -> float:
    """Round a mean to 7 digits, because a float32 is not more precise."""
    return float(f"{mean:.7g}")


def _prefers_csv(request: Request) -> bool:
    accept = request.headers.get("accept", "")
    return preference_for(_CSV, accept) > preference_for("application/json", accept)


def _points_of(curve: Curve) -> list[HistoryPoint]:
    return [
        HistoryPoint(
            time_ms=step * curve.ring.step_ms,
            low=low,
            mean=shortened(mean),
            high=high,
            last=last,
        )
        for step, low, mean, high, last in curve.points
    ]
