"""The page of alarms: active ones with their fixes, and the history. Works without JavaScript."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import ValidationError

from api import limits
from api.actions import caller_of, fault_of
from api.admission import OPERATORS, VIEWERS
from api.alarms.kinds import kind_of
from api.alarms_rest import acknowledged, watch_of
from api.control_socket import BrokerProblem
from api.forms import FormRefused, form_of, is_same_secret
from api.models.alarms import Acknowledge
from api.page import rendered
from api.problems import mend_of, status_of
from gateway.process.control.messages import Refused

_STALE = "The form was out of date. Send it once more."

alarms_page = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@alarms_page.get("/alarms", dependencies=[Depends(VIEWERS)])
async def alarms(
    request: Request, before: Annotated[int | None, Query(ge=0, le=2**62)] = None
) -> Response:
    """Show the active alarms, and a page of the history."""
    return await _shown(request, before)


@alarms_page.post("/alarms/acknowledge", dependencies=[Depends(OPERATORS)])
async def acknowledge(request: Request) -> Response:
    """Acknowledge an alarm, and show the page again."""
    try:
        fields = await form_of(request, request.app.state.hosts)
        login = caller_of(request).login
        if login is None or not is_same_secret(fields.get("token"), login.form_token):
            raise FormRefused(_STALE, 403)
        given = Acknowledge(id=fields.get("id", ""), subject=fields.get("subject", ""))
        await acknowledged(request, given)
    except ValidationError as error:
        return await _shown(request, None, fault_of(error), 422)
    except FormRefused as refusal:
        return await _shown(request, None, str(refusal), refusal.status_code)
    except BrokerProblem as problem:
        return await _shown(request, None, f"{problem.reason} {problem.mend}", problem.status_code)
    except Refused as refusal:
        text = f"{refusal.message}. {mend_of(refusal) or ''}"
        return await _shown(request, None, text, status_of(refusal))
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
