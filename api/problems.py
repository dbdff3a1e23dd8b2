"""Errors as programs read them: RFC 9457 problem details, each with the mend.

Promise: whatever goes wrong under ``/api`` (a gateway that is down, an unknown session, a bad
parameter, an unknown address) comes back as ``application/problem+json`` of one shape. The page for
people has its own words for the same errors.
"""

from http import HTTPStatus
from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException
from starlette.responses import Response

from api import limits
from api.admission import NotAllowed, NotLoggedIn, ReadOnly, login_url_for
from api.control_socket import BrokerProblem
from api.forms import FormRefused
from gateway.control.messages import Refused

_STATUS_OF_CODE: Final = {"not_found": 404, "bad_request": 400, "forbidden": 403, "failed": 409}
_MEND_OF_CODE: Final = {
    "failed": "Correct the file and reload again; `oncegate check-config` shows all of its "
    "mistakes. Until then everything stays as it was.",
    "forbidden": "Name the user, or a group of the user, in `[api]` with that role, and let the "
    "gateway and the page take the configuration over.",
    "not_found": "Look at what there is now: it may have ended meanwhile.",
    "bad_request": "Correct the value and send it again.",
}


class ProblemDetail(BaseModel):
    """RFC 9457, with one member of ours."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    """What happened."""
    mend: str | None = None
    """What a person can do about it."""


def described(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Describe the problems of an endpoint for OpenAPI."""
    return {
        status: {
            "description": HTTPStatus(status).phrase,
            "content": {
                "application/problem+json": {
                    "schema": {"$ref": "#/components/schemas/ProblemDetail"}
                }
            },
        }
        for status in statuses
    }


def install_problem_handlers(app: FastAPI) -> None:
    """Answer every expected error as a problem detail."""
    _install_those_of_admission(app)

    @app.exception_handler(BrokerProblem)
    async def broker_problem(_: Request, error: BrokerProblem) -> JSONResponse:
        return problem_response(error.status_code, error.reason, mend=error.mend)

    @app.exception_handler(FormRefused)
    async def body_refused(_: Request, error: FormRefused) -> JSONResponse:
        return problem_response(
            error.status_code,
            str(error),
            mend="Send it from a page of this gateway, or as JSON with a token; see /docs.",
            headers={"Connection": "close"},  # what is left of the body is not waited for
        )

    @app.exception_handler(Refused)
    async def refused(_: Request, error: Refused) -> JSONResponse:
        return problem_response(status_of(error), error.message, mend=mend_of(error))

    @app.exception_handler(RequestValidationError)
    async def bad_parameter(_: Request, error: RequestValidationError) -> JSONResponse:
        fault = error.errors()[0]
        place = ".".join(str(part) for part in fault["loc"])
        return problem_response(422, f"{place}: {fault['msg']}", mend="See /docs.")

    @app.exception_handler(HTTPException)
    async def http_error(_: Request, error: HTTPException) -> JSONResponse:
        return problem_response(
            error.status_code, str(error.detail), mend="See /docs.", headers=error.headers
        )


def _install_those_of_admission(app: FastAPI) -> None:
    @app.exception_handler(NotLoggedIn)
    async def not_logged_in(request: Request, error: NotLoggedIn) -> Response:
        login_url = None if error.was_shown else login_url_for(request)
        if login_url is not None:
            return RedirectResponse(login_url, status_code=303)
        return problem_response(
            401,
            "The token is none of this gateway's." if error.was_shown else "This needs a login.",
            mend="Send `Authorization: Bearer TOKEN`; `oncegate api-token add` makes one.",
            headers={"WWW-Authenticate": 'Bearer realm="oncegate"'},
        )

    @app.exception_handler(NotAllowed)
    async def not_allowed(_: Request, error: NotAllowed) -> JSONResponse:
        return problem_response(403, f"{error}.", mend="Ask who configures this gateway.")

    @app.exception_handler(ReadOnly)
    async def read_only(_: Request, error: ReadOnly) -> JSONResponse:
        return problem_response(
            403,
            "This page only shows: it has no users.",
            mend="Name users in `[api] operators` or `administrators` and restart the page.",
        )


def status_of(refusal: Refused) -> int:
    """Return what HTTP calls a refusal of the broker."""
    return _STATUS_OF_CODE.get(refusal.code, 502)


def mend_of(refusal: Refused) -> str | None:
    """Return what a person can do about a refusal of the broker."""
    return _MEND_OF_CODE.get(refusal.code)


def problem_response(
    status: int,
    detail: str,
    *,
    mend: str | None = None,
    headers: Any = None,
) -> JSONResponse:
    """Return one problem detail as a response; a 503 has the seconds to wait in Retry-After."""
    problem = ProblemDetail(
        title=HTTPStatus(status).phrase, status=status, detail=detail, mend=mend
    )
    return JSONResponse(
        problem.model_dump(exclude_none=True),
        status_code=status,
        media_type="application/problem+json",
        headers={**(headers or {}), **retry_headers_of(status)},
    )


def retry_headers_of(status: int) -> dict[str, str]:
    """Return the headers of a 503 that make a program wait before it asks again."""
    return {"Retry-After": str(limits.RETRY_AFTER_SECONDS)} if status == 503 else {}
