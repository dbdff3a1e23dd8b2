"""Login and logout. The login page works without JavaScript.

Each login creates a new secret for the browser. After the login, the browser can be redirected only
to paths on this server. If a login fails, the page does not reveal whether the name or the
password is wrong.
"""

import logging
import time
from collections.abc import Mapping
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import RedirectResponse, Response

from api import limits
from api.forms import FormRefused, form_of, is_from_https, is_same_secret, local_path_of
from api.login.accounts import Account, TooManyLogins
from api.login.admission import (
    COOKIE,
    EVERYONE,
    FORM_COOKIE,
    LOGIN_PATH,
    SECURE_PREFIX,
    Gate,
    cookie_of,
    gate_of,
    host_of,
)
from api.login.logins import secret_text
from api.login.roles import Role
from api.pages.page import rendered
from api.status.control_socket import BrokerProblem

logger = logging.getLogger(__name__)

_WRONG: Final = "The name or the password is wrong."
_NO_ROLE: Final = (
    "The password is right, but this user may not see the page: add the user to `[api] viewers`, "
    "or a group of the user to `viewer_groups`, and restart the page."
)
_BUSY: Final = "Other logins are being checked. Try again in a moment."
_STALE: Final = (
    "The form was out of date, or the browser does not store cookies for this page. Try again."
)

login_page = APIRouter(include_in_schema=False, dependencies=[Depends(EVERYONE)])


@login_page.get(LOGIN_PATH)
async def show(
    request: Request,
    onward: Annotated[str, Query(alias="next", max_length=limits.NEXT_CHARACTERS_MAX)] = "/",
) -> Response:
    """Show the login form. After the login, the browser is redirected to `onward`."""
    if gate_of(request).is_open:
        return RedirectResponse("/", status_code=303)
    return _form(request, onward)


@login_page.post(LOGIN_PATH)
async def log_in(request: Request) -> Response:
    """Check the name and password from a submitted form, and log the browser in."""
    gate = gate_of(request)
    if gate.is_open:
        return RedirectResponse("/", status_code=303)
    fields: Mapping[str, str] = {}
    try:
        fields = await form_of(request, request.app.state.hosts)
        account, role = await _user_of(gate, request, fields)
    except FormRefused as refusal:
        return _form(
            request,
            fields.get("next", "/"),
            str(refusal),
            refusal.status_code,
            username=fields.get("username", ""),
        )
    earlier_secret = cookie_of(request, COOKIE)
    if earlier_secret is not None:
        gate.logins.end(earlier_secret)
    name = account.username
    secret, _ = gate.logins.begin(name, role, account.proof, time.monotonic(), account.seconds)
    logger.info("%a (%s) logged in from %s", name, role.word, host_of(request))
    response = RedirectResponse(local_path_of(fields.get("next", "/")), status_code=303)
    _set_cookie(response, COOKIE, secret, is_secure=is_from_https(request))
    return response


@login_page.post("/logout")
async def log_out(request: Request) -> Response:
    """End the browser's login, and delete its cookie."""
    gate = gate_of(request)
    secret = cookie_of(request, COOKIE)
    login = None if secret is None else gate.logins.find(secret, time.monotonic())
    if secret is None or login is None:
        return RedirectResponse(LOGIN_PATH, status_code=303)
    try:
        fields = await form_of(request, request.app.state.hosts)
    except FormRefused as refusal:
        return _form(request, "/", str(refusal), refusal.status_code)
    if not is_same_secret(fields.get("token"), login.form_token):
        return _form(request, "/", _STALE, 403)
    gate.logins.end(secret)
    logger.info("%a logged out", login.username)
    response = RedirectResponse(LOGIN_PATH, status_code=303)
    for is_secure in (True, False):
        _set_cookie(response, COOKIE, "", is_secure=is_secure)
    return response


async def _user_of(gate: Gate, request: Request, fields: Mapping[str, str]) -> tuple[Account, Role]:
    """Check a login form. Return the user and the user's role.

    Raises:
        FormRefused: the login is rejected. The message states the reason.
    """
    if not is_same_secret(fields.get("token"), cookie_of(request, FORM_COOKIE)):
        raise FormRefused(_STALE, 403)
    try:
        account = await _checked(gate, request, fields)
    except TooManyLogins:
        raise FormRefused(_BUSY, 503) from None
    except BrokerProblem as problem:
        raise FormRefused(f"{problem.reason} {problem.fix}", problem.status_code) from None
    if account is None:
        # The user name is not logged, because people sometimes type their password there.
        line = gate.refused_logins.line_of(
            f"a login from {host_of(request)} was refused", time.monotonic()
        )
        if line is not None:
            logger.warning("%s", line)
        raise FormRefused(_WRONG, 403)
    role = gate.roles.of(account.username, account.groups)
    if role is None:
        raise FormRefused(_NO_ROLE, 403)
    return account, role


async def _checked(gate: Gate, request: Request, fields: Mapping[str, str]) -> Account | None:
    """Check the name and password in a login form.

    Return the user, or None if the name or the password is wrong.
    """
    username, password = fields.get("username", ""), fields.get("password", "")
    if not 0 < len(username.encode()) <= limits.USERNAME_BYTES_MAX:
        return None
    if not 0 < len(password.encode()) <= limits.PASSWORD_BYTES_MAX:
        return None
    port = request.client.port if request.client is not None else 0
    return await gate.accounts.check(username, password, (host_of(request), port))


def _form(
    request: Request,
    onward: str,
    problem: str | None = None,
    status_code: int = 200,
    *,
    username: str = "",
) -> Response:
    earlier_token = cookie_of(request, FORM_COOKIE)
    token = earlier_token or secret_text()
    response = rendered(
        request,
        "login.html",
        status_code=status_code,
        problem=problem,
        onward=local_path_of(onward),
        username=username[: limits.SHOWN_CHARACTERS_MAX],
        token=token,
    )
    if problem is not None:
        response.headers["Connection"] = "close"  # do not wait for the rest of the form
    if earlier_token is None:
        _set_cookie(response, FORM_COOKIE, token, is_secure=request.url.scheme == "https")
    return response


def _set_cookie(response: Response, name: str, value: str, *, is_secure: bool) -> None:
    response.set_cookie(
        SECURE_PREFIX + name if is_secure else name,
        value,
        max_age=None if value else 0,
        path="/",
        secure=is_secure,
        httponly=True,
        samesite="strict",
    )
