"""Error responses for programs: problem details (RFC 9457) that also say how to fix the error.

All errors under ``/api`` have the same format, ``application/problem+json``. This includes errors
caused by a stopped gateway, an unknown session, an invalid parameter or an unknown path.
``error_handlers`` determines which callers get problem details and which get a page.
"""

from http import HTTPStatus
from typing import Any, Final

from fastapi.responses import JSONResponse
from pydantic import BaseModel, ConfigDict

from api import limits
from gateway.process.control.messages import Refused

_STATUS_OF_CODE: Final = {
    "not_found": 404,
    "bad_request": 400,
    "forbidden": 403,
    "failed": 409,
    "conflict": 409,
    "of_the_gateway": 409,
    "denied": 403,
    "wrong_password": 403,
    "read_only": 409,
    "refused": 409,
    "impossible": 409,
    "unavailable": 409,
    "not_a_card": 404,
    "invalid": 422,
    "busy": 503,
    "bridge_away": 503,
    "unwritable": 503,
}
_FIX_OF_CODE: Final = {
    "failed": "Correct the file and reload again; `oncegate check-config` shows all of its "
    "mistakes. Until then everything stays as it was.",
    "forbidden": "Name the user, or a group of the user, in `[api]` with that role, and let the "
    "gateway and the page take the configuration over.",
    "not_found": "Check what exists now: it may have ended meanwhile.",
    "bad_request": "Correct the value and send it again.",
    "invalid": "Correct the value and send it again. Nothing was changed.",
    "conflict": "Look at what there is now, and try again.",
    "of_the_gateway": "Use the page of the gateway itself.",
    "denied": "Add it to the file of `[access] rules_file`, above the rule that denies it, and "
    "reload the configuration. `oncegate acl test` shows the rule that decides.",
    "refused": "Nothing was published. If a limit is reached, the overview and the log show it.",
    "impossible": "Nothing was changed.",
    "wrong_password": "Enter the password with which you log in.",
    "read_only": "Use `oncegate passwd` or `oncegate api-token` on the gateway. To change users or "
    "tokens here, keep their file where the broker may write, such as its data directory.",
    "unavailable": "In its terminal, stop `oncegate up` with Ctrl-C and start it again. A "
    "container is restarted by its engine.",
    "not_a_card": "Elsewhere use the tools of the system: `hostnamectl` and `nmtui` for name and "
    "network, and the package manager for updates.",
    "busy": "Try again in a moment.",
    "bridge_away": "Start it with `systemctl start oncegate-bridge`. `journalctl -u "
    "oncegate-bridge` shows why it stopped.",
    "unwritable": "Make room, or make conf.d/ writable for the bridge, and try again.",
}


class ProblemDetail(BaseModel):
    """An error response in the format of RFC 9457, with `mend`: advice on how to fix the error."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    """Description of the problem."""
    mend: str | None = None
    """How to fix the problem, for a person."""


def described(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the OpenAPI descriptions of error responses, keyed by HTTP status code.

    The arguments are the status codes.
    """
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


_TEXT_OR_PROBLEM: Final[dict[str, Any]] = {
    "text/plain": {},
    "application/problem+json": {"schema": {"$ref": "#/components/schemas/ProblemDetail"}},
}
SESSIONS_REFUSED: Final[dict[int | str, dict[str, Any]]] = {
    400: {
        "description": "`after` is of another `sort`, or the address is longer than 65,535 bytes.",
        "content": _TEXT_OR_PROBLEM,
    }
}
"""OpenAPI description of status 400 for the list of sessions."""
ADDRESS_TOO_LONG: Final[dict[int | str, dict[str, Any]]] = {
    400: {"description": "The address is longer than 65,535 bytes.", "content": {"text/plain": {}}}
}
"""OpenAPI description of the HTTP parser's status 400, for routes that accept a client id."""


def status_of(refusal: Refused) -> int:
    """Return the HTTP status code for a request that the broker refused."""
    return _STATUS_OF_CODE.get(refusal.code, 502)


def fix_of(refusal: Refused) -> str | None:
    """Return advice on fixing a request that the broker refused, or None if no fix is known."""
    return _FIX_OF_CODE.get(refusal.code)


def problem_response(
    status: int,
    detail: str,
    *,
    fix: str | None = None,
    headers: Any = None,
) -> JSONResponse:
    """Return a response with problem details. Status 503 includes a Retry-After header."""
    problem = ProblemDetail(title=HTTPStatus(status).phrase, status=status, detail=detail, mend=fix)
    return JSONResponse(
        problem.model_dump(exclude_none=True),
        status_code=status,
        media_type="application/problem+json",
        headers={**(headers or {}), **retry_headers_of(status)},
    )


def retry_headers_of(status: int) -> dict[str, str]:
    """Return a Retry-After header for status 503, and no headers for other codes."""
    return {"Retry-After": str(limits.RETRY_AFTER_SECONDS)} if status == 503 else {}
