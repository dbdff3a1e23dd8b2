"""Forms that administrators use to add and remove tokens of programs."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from api import limits
from api.forms import form_of
from api.login.admission import ADMINISTRATORS
from api.login.roles import ROLES_BY_WORD
from api.models.users import AddToken, RemoveToken, TokenAdded, TokenRemoved
from api.pages.actions import FORM_FAILURES, refuse_stale, shown_of
from api.pages.page import rendered
from api.rest.actions import carried_out

_Name = Annotated[str, Query(max_length=limits.TOKEN_NAME_CHARACTERS_MAX)]

tokens_page = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@tokens_page.get("/tokens/add", dependencies=[Depends(ADMINISTRATORS)])
async def ask_add(request: Request) -> Response:
    """Show the form for the name and the role of a new token."""
    return _form(request, "add", "")


@tokens_page.get("/tokens/remove", dependencies=[Depends(ADMINISTRATORS)])
async def ask_remove(request: Request, name: _Name) -> Response:
    """Show the confirmation page for removing a token."""
    return _form(request, "remove", name)


@tokens_page.post("/tokens/add", dependencies=[Depends(ADMINISTRATORS)])
async def do_add(request: Request) -> Response:
    """Add the token named in a submitted form, and show its secret, which is never shown again."""
    name = role = ""
    try:
        fields = await form_of(request, request.app.state.hosts)
        name, role = fields.get("name", ""), fields.get("role", "viewer")
        refuse_stale(request, fields)
        given = AddToken.model_validate(
            {"name": name, "token_role": role, "own_password": fields.get("own_password", "")}
        )
        added = await carried_out(request, "add_token", given, TokenAdded)
    except FORM_FAILURES as failure:
        return _form(request, "add", name, *shown_of(failure), role=role)
    response = rendered(request, "token_added.html", name=name, role=role, text=added.token)
    response.headers["Cache-Control"] = "no-store"
    return response


@tokens_page.post("/tokens/remove", dependencies=[Depends(ADMINISTRATORS)])
async def do_remove(request: Request) -> Response:
    """Remove the token named in a submitted form, and show the remaining tokens."""
    name = ""
    try:
        fields = await form_of(request, request.app.state.hosts)
        name = fields.get("name", "")
        refuse_stale(request, fields)
        given = RemoveToken(name=name, own_password=fields.get("own_password", ""))
        await carried_out(request, "remove_token", given, TokenRemoved)
    except FORM_FAILURES as failure:
        return _form(request, "remove", name, *shown_of(failure))
    return RedirectResponse("/users", 303)


def _form(
    request: Request,
    command: str,
    name: str,
    problem: str | None = None,
    status_code: int = 200,
    *,
    role: str = "viewer",
) -> Response:
    return rendered(
        request,
        "token_form.html",
        status_code=status_code,
        command=command,
        name=name,
        role=role,
        roles=list(ROLES_BY_WORD),
        problem=problem,
    )
