"""Responses to expected errors: a page for people, problem details for programs.

A browser that requests a page gets a page with the cause and the fix. All other clients get
``application/problem+json``.
"""

from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import RedirectResponse
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import HTMLResponse, Response

from api import limits
from api.forms import FormRefused
from api.login.admission import PROGRAMS, NotAllowed, NotLoggedIn, ReadOnly, login_url_for
from api.mistakes import sentence_of_fault
from api.pages.page import html_of
from api.preferences import prefers_page
from api.problems import fix_of, problem_response, retry_headers_of, status_of
from api.status.control_socket import BrokerProblem
from gateway.process.control.messages import Refused

_SEE_DOCS: Final = "See /docs."
_FIX_OF_BODY: Final = "Correct the field and send it again. /docs has the fields of each request."
_FIX_OF_ORIGIN: Final = "Send it from a page of this gateway, or as JSON with a token; see /docs."


def wants_page(path: str, headers: Headers) -> bool:
    """Return True if a request comes from a browser that will display the response as a page."""
    return prefers_page(headers.get("accept", "")) and not path.startswith(PROGRAMS)


def problem_page(
    status: int,
    detail: str,
    fix: str | None = None,
    headers: Any = None,
    *,
    gateway: str,
) -> HTMLResponse:
    """Return an error page that shows the detail and the fix, with a link to the status page."""
    text = html_of(
        "problem.html",
        title=HTTPStatus(status).phrase,
        detail=detail,
        fix=fix,
        gateway=gateway,
        caller=None,
        may_operate=False,
        may_administer=False,
    )
    return HTMLResponse(
        text, status_code=status, headers={**(headers or {}), **retry_headers_of(status)}
    )


def _response(
    request: Request, status: int, detail: str, *, fix: str | None = None, headers: Any = None
) -> Response:
    if not wants_page(request.url.path, request.headers):
        return problem_response(status, detail, fix=fix, headers=headers)
    fix = None if fix == _SEE_DOCS else fix
    gateway = request.app.state.observer.gateway
    return problem_page(status, detail, fix, headers, gateway=gateway)


def install_problem_handlers(app: FastAPI) -> None:
    """Register handlers for all expected errors."""
    _install_those_of_admission(app)

    @app.exception_handler(BrokerProblem)
    async def broker_problem(request: Request, error: BrokerProblem) -> Response:
        return _response(request, error.status_code, error.reason, fix=error.fix)

    @app.exception_handler(FormRefused)
    async def body_refused(request: Request, error: FormRefused) -> Response:
        return _response(
            request,
            error.status_code,
            str(error),
            fix=_FIX_OF_BODY if error.status_code == 422 else _FIX_OF_ORIGIN,
            headers={"Connection": "close"},  # do not wait for the rest of the body
        )

    @app.exception_handler(Refused)
    async def refused(request: Request, error: Refused) -> Response:
        return _response(request, status_of(error), error.message, fix=fix_of(error))

    @app.exception_handler(RequestValidationError)
    async def bad_parameter(request: Request, error: RequestValidationError) -> Response:
        sentence = sentence_of_fault(error.errors()[0], {})
        return _response(request, 422, f"{sentence}.", fix=_SEE_DOCS)

    @app.exception_handler(HTTPException)
    async def http_error(request: Request, error: HTTPException) -> Response:
        status = error.status_code
        return _response(
            request, status, _detail_of(request, error), fix=_SEE_DOCS, headers=error.headers
        )


def _detail_of(request: Request, error: HTTPException) -> str:
    """Return the reason why a request failed.

    Starlette's own message often only repeats the status phrase. For status 404 and 405, such a
    message is replaced by a sentence with the path or the method.
    """
    path = request.url.path[: limits.SHOWN_CHARACTERS_MAX]
    if error.detail != HTTPStatus(error.status_code).phrase:
        return str(error.detail)
    if error.status_code == HTTPStatus.NOT_FOUND:
        return f"This gateway has no page {path!a}."
    if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
        return f"{path!a} cannot be asked with {request.method[:16]!a}."
    return str(error.detail)


def _install_those_of_admission(app: FastAPI) -> None:
    @app.exception_handler(NotLoggedIn)
    async def not_logged_in(request: Request, error: NotLoggedIn) -> Response:
        login_url = None if error.had_token else login_url_for(request)
        if login_url is not None:
            return RedirectResponse(login_url, status_code=303)
        return _response(
            request,
            401,
            "This gateway does not know the token." if error.had_token else "This needs a login.",
            fix="Send `Authorization: Bearer TOKEN`; `oncegate api-token add` creates one.",
            headers={"WWW-Authenticate": 'Bearer realm="oncegate"'},
        )

    @app.exception_handler(NotAllowed)
    async def not_allowed(request: Request, error: NotAllowed) -> Response:
        return _response(request, 403, f"{error}.", fix="Ask who configures this gateway.")

    @app.exception_handler(ReadOnly)
    async def read_only(request: Request, error: ReadOnly) -> Response:
        return _response(
            request,
            403,
            "Read-only: this page has no users.",
            fix="Name users in `[api] operators` or `administrators` and restart the page.",
        )
