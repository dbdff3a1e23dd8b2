"""The page of users and tokens, for administrators."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from api import limits
from api.actions_page import shown_of
from api.admission import ADMINISTRATORS
from api.control_socket import BrokerProblem
from api.models.users import AskedUsers, UserPage
from api.page import rendered
from api.users_rest import tokens_of, users_for
from gateway.process.control.messages import Refused

users_page = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@users_page.get("/users", dependencies=[Depends(ADMINISTRATORS)])
async def users(
    request: Request, after: Annotated[str, Query(max_length=limits.USERNAME_BYTES_MAX)] = ""
) -> Response:
    """List users and tokens. ``after`` is the name before the first one."""
    problem, status_code = None, 200
    try:
        page = await users_for(request, AskedUsers(after=after))
    except (BrokerProblem, Refused) as failure:
        page = UserPage(users=[], next=None)
        problem, status_code = shown_of(failure)
    return rendered(
        request,
        "users.html",
        status_code=status_code,
        users=page.users,
        next=page.next,
        after=after,
        tokens=tokens_of(request),
        problem=problem,
    )
