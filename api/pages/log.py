"""The log page: the newest events that match its filters. It works without JavaScript."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from api import limits
from api.drawing.event_lines import Kind, line_of
from api.login.admission import VIEWERS
from api.models.events import EventPage
from api.pages.page import down_page, rendered
from api.rest.events import SEQUENCE_MAX
from api.rest.status import observer_of
from api.status.control_socket import BrokerProblem
from gateway.process.control.messages import Refused

events_page = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@events_page.get("/log", dependencies=[Depends(VIEWERS)])
async def log_page(
    request: Request,
    client_id: Annotated[str, Query(max_length=limits.CLIENT_ID_CHARACTERS_MAX)] = "",
    kind: Annotated[Kind, Query()] = Kind.ALL,
    port: Annotated[str, Query(max_length=limits.EVENT_NAME_CHARACTERS_MAX)] = "",
    before: Annotated[int | None, Query(ge=0, le=SEQUENCE_MAX)] = None,
) -> Response:
    """Show the newest events that match the filters.

    If ``before`` is given, only events with lower sequence numbers are shown.
    """
    observer = observer_of(request)
    chosen = {"client_id": client_id.strip(), "port": port.strip()}
    try:
        overview = await observer.overview()
        wanted = {"names": kind.names, "before": before, "limit": limits.EVENTS_PER_PAGE}
        page, problem = await observer.events({**chosen, **wanted}), None
    except BrokerProblem as failure:
        return down_page(request, failure)
    except Refused as refusal:
        page, problem = EventPage(events=[], next=None), refusal.message
    chosen |= {"kind": "" if kind is Kind.ALL else kind.value}
    return rendered(
        request,
        "log.html",
        overview=overview,
        broker=overview.broker,
        lines=[line_of(event) for event in page.events],
        next=page.next,
        before=before,
        problem=problem,
        kinds=list(Kind),
        kind=kind,
        client_id=client_id,
        port=port,
        query=urlencode({name: value for name, value in chosen.items() if value}),
    )
