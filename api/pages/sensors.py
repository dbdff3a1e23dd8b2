"""The pages about sensors: a list of all sensors, and a page with charts for each sensor.

The charts show an hour, a day or a month.
"""

import contextlib
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.responses import HTMLResponse, Response

from api import limits
from api.drawing.chart import chart_of
from api.drawing.devices import (
    ShownQuantity,
    csv_series_of,
    topic_filter_of,
)
from api.history.history import History
from api.history.readings import name_of
from api.history.rings import DAY, HOUR, MONTH, Ring
from api.login.admission import VIEWERS
from api.models.bridge import Device, devices_of, found_device
from api.models.home_assistant import InHomeAssistant
from api.pages.page import down_page, rendered
from api.rest.history import history_of
from api.rest.status import observer_of
from api.status.control_socket import BrokerProblem
from api.status.home_assistant import in_home_assistant
from api.wording import quantity_name_of

sensors_page = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

Span = Literal["hour", "day", "month"]
RINGS_BY_SPAN: Final[dict[Span, Ring]] = {"hour": HOUR, "day": DAY, "month": MONTH}


@sensors_page.get("/sensors", dependencies=[Depends(VIEWERS)])
async def sensors(request: Request) -> Response:
    """List all serial ports and devices with their latest values."""
    observer = observer_of(request)
    try:
        overview = await observer.overview()
    except BrokerProblem as problem:
        return down_page(request, problem)
    bridge = overview.serial.status
    return rendered(
        request,
        "sensors.html",
        overview=overview,
        broker=overview.broker,
        bridge=bridge,
        now_ms=overview.broker.time_ms,
        device_count=0 if bridge is None else sum(1 for _ in devices_of(bridge)),
        history_problem=history_of(request).problem,
    )


@sensors_page.get("/sensors/{device:client_id}", dependencies=[Depends(VIEWERS)])
async def sensor(
    request: Request,
    device: Annotated[str, Path(max_length=limits.SERIES_NAME_CHARACTERS_MAX)],
    span: Annotated[Span, Query()] = "hour",
) -> Response:
    """Show one device, with a chart for each of its numeric quantities."""
    observer, history = observer_of(request), history_of(request)
    try:
        overview = await observer.overview()
    except BrokerProblem as problem:
        return down_page(request, problem)
    bridge = overview.serial.status
    found = None if bridge is None else found_device(bridge, device)
    shown: list[ShownQuantity] = []
    now_ms = overview.broker.time_ms
    home_assistant: InHomeAssistant | None = None
    if bridge is not None and found is not None:
        shown = await _shown_of(found[1], history, RINGS_BY_SPAN[span], now_ms=now_ms)
        # The page has the readings even if the broker does not answer a moment later.
        with contextlib.suppress(BrokerProblem):
            home_assistant = await in_home_assistant(observer, bridge, device)
    return rendered(
        request,
        "sensor.html",
        status_code=200 if found is not None else 404,
        overview=overview,
        broker=overview.broker,
        now_ms=now_ms,
        name=device,
        port=None if found is None else found[0],
        device=None if found is None else found[1],
        quantities=shown,
        span=span,
        spans=list(RINGS_BY_SPAN),
        from_ms=max(0, now_ms - 1000 * RINGS_BY_SPAN[span].span_seconds),
        csv_series=csv_series_of(shown),
        topic=None if found is None else topic_filter_of(*found),
        history_problem=history.problem,
        home_assistant=home_assistant,
    )


async def _shown_of(
    device: Device, history: History, ring: Ring, *, now_ms: int
) -> list[ShownQuantity]:
    shown = []
    from_ms = max(0, now_ms - 1000 * ring.span_seconds)
    for quantity in device.quantities:
        series = name_of(device.device, quantity.name)
        chart = None
        if isinstance(quantity.value, int | float):
            curve = await history.curve(series, ring, from_ms=from_ms, to_ms=now_ms)
            chart = chart_of(curve, quantity_name_of(quantity.name), now_ms=now_ms)
        time_ms = quantity.time_ms if quantity.time_ms is not None else device.last_ms
        shown.append(ShownQuantity(quantity, series, time_ms, chart))
    return shown
