"""Access control for routes, by a FastAPI dependency that every route declares.

If users are configured and a caller does not have the role for a route, the route is not executed.
A browser without a login is then sent to the login page. All other callers get status 401 or 403.
If no users are configured, all callers can read everything and change nothing. Access is then
limited only by the listening address and the check of the host name (``shielding``).
"""

import logging
import time
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlencode

from fastapi import Request

from api import limits
from api.forms import local_path_of
from api.login.accounts import Accounts
from api.login.logins import Login, Logins
from api.login.roles import ROLES_BY_WORD, Role, Roles
from api.login.tokens import Tokens

logger = logging.getLogger(__name__)

COOKIE: Final = "oncegate-login"
FORM_COOKIE: Final = "oncegate-form"
SECURE_PREFIX: Final = "__Host-"
"""Prefix of cookie names that a browser accepts only over HTTPS and for this host alone."""

LOGIN_PATH: Final = "/login"
PROGRAMS: Final = ("/api/", "/metrics", "/openapi.json")
"""Prefixes of the paths for programs; all other paths are for people."""
_SCHEME: Final = "bearer "


class Refusals:
    """Counter for one kind of rejected request. Times are in seconds on a monotonic clock."""

    def __init__(self) -> None:
        self._logged: float | None = None
        self._unlogged = 0
        self.count = 0
        """Number of rejected requests so far."""

    def line_of(self, what: str, now: float) -> str | None:
        """Count a rejected request, and return a log line that begins with the text `what`.

        If a line was returned within the last minute, return None instead. The next line then
        states the number of requests that were rejected in the meantime.
        """
        self.count += 1
        if self._logged is not None and now - self._logged < limits.REFUSALS_LOGGED_SECONDS:
            self._unlogged += 1
            return None
        more = f" ({self._unlogged:,} more since the last such line)" if self._unlogged else ""
        self._logged, self._unlogged = now, 0
        return what + more


class NotLoggedIn(Exception):
    """Error that is raised if a caller must authenticate.

    ``had_token`` is True if the request contained an invalid token, and False if it contained none.
    """

    def __init__(self, *, had_token: bool) -> None:
        super().__init__()
        self.had_token = had_token


class NotAllowed(Exception):
    """Error that is raised if a caller's role is not sufficient for the route."""

    def __init__(self, caller: "Caller", least: Role) -> None:
        super().__init__(f"{caller.name} is {caller.role.word}; this is for {least.word}s")


class ReadOnly(Exception):
    """Error that is raised if an action is rejected because no users are configured."""


@dataclass(frozen=True)
class Caller:
    """A caller whose request is accepted: a person who is logged in, or a program with a token."""

    name: str
    role: Role
    login: Login | None
    """The person's login, or None if the caller is a program."""


@dataclass(kw_only=True)
class Gate:
    """Access check that identifies callers by their login or token.

    An instance belongs to one event loop.
    """

    roles: Roles
    """Roles of users and groups. If there are none, no login is required."""
    accounts: Accounts
    tokens: Tokens | None
    logins: Logins = field(default_factory=Logins)
    refused_logins: Refusals = field(default_factory=Refusals)
    refused_tokens: Refusals = field(default_factory=Refusals)

    @property
    def is_open(self) -> bool:
        """True if no login is required. Everyone can then read the pages."""
        return not self.roles

    async def caller_of(self, request: Request) -> Caller | None:
        """Return the caller of a request, or None if the caller is not authenticated.

        A caller is authenticated by a program's token or by a valid login.

        Raises:
            NotLoggedIn: the program's token is invalid.
        """
        now = time.monotonic()
        authorization = request.headers.get("authorization")
        if authorization is not None:
            return self._program_of(authorization, request, now)
        secret = cookie_of(request, COOKIE)
        login = None if secret is None else self.logins.find(secret, now)
        if login is None:
            return None
        if not await self.accounts.still_holds(login, now):
            logger.info(
                "%a is logged out: the password or the groups were changed, or the user is gone",
                login.username,
            )
            self.logins.end_user(login.username)
            return None
        return Caller(login.username, login.role, login)

    def _program_of(self, authorization: str, request: Request, now: float) -> Caller:
        secret = authorization[len(_SCHEME) :].strip()
        is_bearer = authorization[: len(_SCHEME)].lower() == _SCHEME
        if is_bearer and self.tokens is not None and len(secret) <= limits.SECRET_CHARACTERS_MAX:
            token = self.tokens.find(secret, now)
            if token is not None:
                return Caller(token.name, ROLES_BY_WORD[token.role], None)
        line = self.refused_tokens.line_of(f"a token from {host_of(request)} is none", now)
        if line is not None:
            logger.warning("%s", line)
        raise NotLoggedIn(had_token=True)


def gate_of(request: Request) -> Gate:
    """Return this process's gate, which checks callers against users, logins and tokens."""
    gate = request.app.state.gate
    assert isinstance(gate, Gate)
    return gate


def host_of(request: Request) -> str:
    """Return the IP address of the client that sent a request, or "" if the address is unknown."""
    return request.client.host if request.client is not None else ""


def cookie_of(request: Request, cookie: str) -> str | None:
    """Return the value of a request's cookie, or None if it is missing or too long.

    `cookie` is the name, without the prefix ``__Host-``. Over HTTPS, only the cookie with this
    prefix is accepted.
    """
    names = [SECURE_PREFIX + cookie]
    if request.url.scheme != "https":
        names.append(cookie)
    for name in names:
        value = request.cookies.get(name)
        if value is not None and len(value) <= limits.SECRET_CHARACTERS_MAX:
            return value
    return None


def login_url_for(request: Request) -> str | None:
    """Return the URL of the login page, with a link back to the requested page.

    Return None for requests to the API, because programs do not use the login page.
    """
    url = request.url
    if url.path.startswith(PROGRAMS):
        return None
    if request.method != "GET":
        return LOGIN_PATH
    path = local_path_of(f"{url.path}?{url.query}" if url.query else url.path)
    return LOGIN_PATH if path == "/" else f"{LOGIN_PATH}?{urlencode({'next': path})}"


class Admission:
    """FastAPI dependency that accepts callers with at least the role `least`.

    If `least` is None, all callers are accepted.
    """

    def __init__(self, least: Role | None) -> None:
        self.least: Final = least

    async def __call__(self, request: Request) -> None:
        """Check the caller of a request. Store the caller as ``request.state.caller``.

        Raises:
            NotLoggedIn: a login is required, and the request has none.
            NotAllowed: the caller's role is too low.
            ReadOnly: the route needs users, and none are configured.
        """
        gate = gate_of(request)
        request.state.caller = None
        if self.least is None:
            return
        if gate.is_open:
            if self.least > Role.VIEWER:
                raise ReadOnly
            return
        caller = await gate.caller_of(request)
        if caller is None:
            raise NotLoggedIn(had_token=False)
        if caller.role < self.least:
            raise NotAllowed(caller, self.least)
        request.state.caller = caller


EVERYONE: Final = Admission(None)
VIEWERS: Final = Admission(Role.VIEWER)
OPERATORS: Final = Admission(Role.OPERATOR)
ADMINISTRATORS: Final = Admission(Role.ADMINISTRATOR)
