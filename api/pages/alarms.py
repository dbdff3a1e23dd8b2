"""The alarms page: active alarms with their fixes, and cleared alarms. It needs no JavaScript."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from api import limits
from api.alarms.kinds import kind_of
from api.forms import form_of
from api.login.admission import OPERATORS, VIEWERS
from api.models.alarms import Acknowledge
from api.pages.actions import FORM_FAILURES, refuse_stale, shown_of
from api.pages.page import rendered
from api.rest.alarms import acknowledged, watch_of

alarms_page = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@alarms_page.get("/alarms", dependencies=[Depends(VIEWERS)])
async def alarms(
    request: Request, before: Annotated[int | None, Query(ge=0, le=2**62)] = None
) -> Response:
    """Show the active alarms, and a page of cleared alarms.

    If `before` is given, only cleared alarms with row numbers below `before` are shown.
    """
    return await _shown(request, before)


@alarms_page.post("/alarms/acknowledge", dependencies=[Depends(OPERATORS)])
async def acknowledge(request: Request) -> Response:
    """Acknowledge the alarm named in a submitted form, and show the page again."""
    try:
        fields = await form_of(request, request.app.state.hosts)
        refuse_stale(request, fields)
        given = Acknowledge(id=fields.get("id", ""), subject=fields.get("subject", ""))
        await acknowledged(request, given)
    except FORM_FAILURES as failure:
        return await _shown(request, None, *shown_of(failure))
    return RedirectResponse("/alarms", 303)


async def _shown(
    request: Request, before: int | None, problem: str | None = None, status_code: int = 200
) -> Response:
    watch = watch_of(request)
    cleared = await watch.cleared(before=before, limit=limits.ALARMS_PER_PAGE)
    is_more = len(cleared) == limits.ALARMS_PER_PAGE
    return rendered(
        request,
        "alarms.html",
        status_code=status_code,
        active=watch.active() if before is None else (),
        before=before,
        cleared=[alarm for _, alarm in cleared],
        next=cleared[-1][0] if is_more else None,
        problem=problem or watch.problem,
        not_listed=watch.not_listed,
        kind_of=kind_of,
    )
