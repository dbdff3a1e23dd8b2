"""The pages on which administrators list users and tokens, set passwords, and remove users."""

from collections.abc import Callable, Mapping
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel

from api import limits
from api.forms import FormRefused, form_of
from api.login.admission import ADMINISTRATORS
from api.models.users import (
    AskedUsers,
    PasswordSet,
    RemoveUser,
    SetPassword,
    UserPage,
    UserRemoved,
)
from api.pages.actions import FORM_FAILURES, refuse_stale, shown_of
from api.pages.page import rendered
from api.rest.actions import carried_out
from api.rest.users import tokens_of, users_for
from api.status.control_socket import BrokerProblem
from gateway.process.control.messages import Refused

_NOT_ALIKE: Final = "The two passwords differ."
_Name = Annotated[str, Query(max_length=limits.USERNAME_BYTES_MAX)]

users_page = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@users_page.get("/users", dependencies=[Depends(ADMINISTRATORS)])
async def users(
    request: Request, after: Annotated[str, Query(max_length=limits.USERNAME_BYTES_MAX)] = ""
) -> Response:
    """List users and tokens. ``after`` is the last user name of the previous page."""
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


@users_page.get("/users/password", dependencies=[Depends(ADMINISTRATORS)])
async def ask_password(request: Request, user: _Name = "") -> Response:
    """Show the form for setting a user's password or adding a user."""
    return _form(request, "password", user)


@users_page.get("/users/remove", dependencies=[Depends(ADMINISTRATORS)])
async def ask_remove(request: Request, user: _Name) -> Response:
    """Show the confirmation page for removing a user."""
    return _form(request, "remove", user)


@users_page.post("/users/password", dependencies=[Depends(ADMINISTRATORS)])
async def do_password(request: Request) -> Response:
    """Set the password from a submitted form, and redirect to the list of users."""
    return await _changed(request, "password", "set_password", _password_in, PasswordSet)


@users_page.post("/users/remove", dependencies=[Depends(ADMINISTRATORS)])
async def do_remove(request: Request) -> Response:
    """Remove the user named in a submitted form, and redirect to the list of users."""
    return await _changed(request, "remove", "remove_user", _removal_in, UserRemoved)


def _password_in(fields: Mapping[str, str]) -> SetPassword:
    """Convert the fields of a form to the arguments of the broker command that sets a password.

    Raises FormRefused if the two passwords differ, or ValidationError if a value is invalid.
    """
    if fields.get("password") != fields.get("again"):
        raise FormRefused(_NOT_ALIKE, 422)
    own, password = fields.get("own_password", ""), fields.get("password", "")
    return SetPassword(user=fields.get("user", ""), password=password, own_password=own)


def _removal_in(fields: Mapping[str, str]) -> RemoveUser:
    """Convert the fields of a form to the arguments of the broker command that removes a user.

    Raises ValidationError if a value is invalid.
    """
    return RemoveUser(user=fields.get("user", ""), own_password=fields.get("own_password", ""))


async def _changed(
    request: Request,
    form: str,
    command: str,
    given_in: Callable[[Mapping[str, str]], BaseModel],
    answer: type[BaseModel],
) -> Response:
    """Execute a broker command with the values of a submitted form.

    Then redirect to the list of users. If the command fails, show the form again with the problem.

    Args:
        request: the request with the submitted form.
        form: the name of the form, `password` or `remove`.
        command: the name of the broker command.
        given_in: converts the fields of the form to the arguments of the command.
        answer: the type of the command's result.
    """
    user = ""
    try:
        fields = await form_of(request, request.app.state.hosts)
        user = fields.get("user", "")
        refuse_stale(request, fields)
        await carried_out(request, command, given_in(fields), answer)
    except FORM_FAILURES as failure:
        return _form(request, form, user, *shown_of(failure))
    return RedirectResponse("/users", 303)


def _form(
    request: Request, command: str, user: str, problem: str | None = None, status_code: int = 200
) -> Response:
    return rendered(
        request,
        "user_form.html",
        status_code=status_code,
        command=command,
        user=user,
        problem=problem,
    )
