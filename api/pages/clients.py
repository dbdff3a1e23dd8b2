"""The pages about clients: a list of sessions, and a page for each session and its handshakes."""

from typing import Annotated
from urllib.parse import urlencode

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from api import limits
from api.drawing.event_lines import HANDSHAKES, RESTARTS
from api.drawing.handshakes import Step, steps_of
from api.login.admission import VIEWERS
from api.models.session_filters import Search, Sort, State
from api.models.sessions import SessionDetail, SessionPage
from api.pages.page import down_page, rendered
from api.rest.status import observer_of
from api.status.control_socket import BrokerProblem
from api.status.observer import Observer, Overview
from gateway.process.control.messages import Refused

clients_page = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@clients_page.get("/clients", dependencies=[Depends(VIEWERS)])
async def clients(
    request: Request,
    *,
    after: Annotated[
        str | None, Query(max_length=limits.CLIENT_ID_CHARACTERS_MAX + limits.SORT_CHARACTERS_MAX)
    ] = None,
    search: Annotated[str, Query(max_length=limits.SEARCH_CHARACTERS_MAX)] = "",
    state: Annotated[State, Query()] = State.ALL,
    user: Annotated[str, Query(max_length=limits.USERNAME_BYTES_MAX)] = "",
    sort: Annotated[Sort, Query()] = Sort.CLIENT_ID,
) -> Response:
    """List the sessions that match the filters.

    The query parameter ``after`` is the value of ``next`` in the previous page.
    """
    observer = observer_of(request)
    wanted = Search(search=search.strip(), state=state, user=user.strip(), sort=sort)
    try:
        overview = await observer.overview()
    except BrokerProblem as problem:
        return down_page(request, problem)
    found, sessions_problem = await _found_by(observer, wanted, after)
    return rendered(
        request,
        "clients.html",
        overview=overview,
        broker=overview.broker,
        found=found,
        sessions_problem=sessions_problem,
        after=after,
        search=wanted,
        now_ms=overview.broker.time_ms,
        states=list(State),
        sorts=list(Sort),
        query=urlencode(wanted.chosen),
    )


@clients_page.get("/session", dependencies=[Depends(VIEWERS)])
async def session_page(
    request: Request,
    client_id: Annotated[str, Query(max_length=limits.CLIENT_ID_CHARACTERS_MAX)],
) -> Response:
    """Show one session with its subscriptions, its messages in transit and its handshakes."""
    observer = observer_of(request)
    session: SessionDetail | None
    try:
        overview: Overview = await observer.overview()
        session = await observer.session(client_id)
    except BrokerProblem as problem:
        return down_page(request, problem)
    except Refused:
        session = None
    steps, steps_problem = await _steps_of(observer, client_id)
    return rendered(
        request,
        "session.html",
        status_code=200 if session is not None else 404,
        overview=overview,
        broker=overview.broker,
        now_ms=overview.broker.time_ms,
        client_id=client_id,
        session=session,
        steps=steps,
        steps_problem=steps_problem,
    )


async def _steps_of(observer: Observer, client_id: str) -> tuple[list[Step], str | None]:
    """Return the steps of a client's latest handshakes and None, or an empty list and an error.

    The error states why the steps cannot be read. Broker restarts since the first of these
    handshakes are also listed as steps.
    """
    try:
        own = await observer.events(
            {
                "client_id": client_id,
                "names": HANDSHAKES,
                "limit": limits.HANDSHAKE_EVENTS_MAX,
            }
        )
        if not own.events:
            return [], None
        restarts = await observer.events(
            {"names": RESTARTS, "after": own.events[-1].sequence, "limit": 10}
        )
    except BrokerProblem as problem:
        return [], problem.reason
    except Refused as refusal:
        return [], refusal.message
    return steps_of(sorted([*own.events, *restarts.events], key=lambda each: each.sequence)), None


async def _found_by(
    observer: Observer, wanted: Search, after: str | None
) -> tuple[SessionPage | None, str | None]:
    """Return a page of sessions and None, or None and the reason why they cannot be listed.

    The reason is returned, not raised, so that the rest of the web page can be shown.
    """
    try:
        limit = limits.SESSIONS_PER_PAGE
        return await observer.sessions(after=after, limit=limit, chosen=wanted.chosen), None
    except BrokerProblem as problem:
        return None, problem.reason
    except Refused as refusal:
        return None, refusal.message
