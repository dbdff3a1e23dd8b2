"""REST routes with which programs execute actions: POST requests with JSON bodies.

A program authenticates with a bearer token, and a browser with its login cookie. To prevent another
site's page from misusing the cookie, the headers ``X-Form-Token`` and ``Origin`` are also checked.
These checks and the check of the caller's role take place before the body is read.
"""

from typing import Annotated, Any, Final, TypeVar

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ValidationError

from api.forms import FormRefused, body_of, is_same_secret, refuse_foreign
from api.login.admission import ADMINISTRATORS, OPERATORS, VIEWERS, Admission, Caller, host_of
from api.mistakes import sentence_of
from api.models.actions import (
    Banned,
    BanPage,
    Kick,
    Kicked,
    Lifted,
    NewBan,
    OldBan,
    Reload,
    Reloaded,
    Restart,
    Restarted,
)
from api.problems import described
from api.rest.operator import Operator
from api.rest.query_parameters import refuse_unknown
from api.rest.status import observer_of

_Given = TypeVar("_Given", bound=BaseModel)
_Answer = TypeVar("_Answer", bound=BaseModel)

FORM_TOKEN_HEADER: Final = "x-form-token"  # noqa: S105 - its name, not a token
_PROBLEMS: Final = (400, 401, 403, 408, 413, 415, 422, 502, 503)

actions = APIRouter(prefix="/api/v1", tags=["actions"])


def operator_of(request: Request) -> Operator:
    """Return this process's `Operator`, which sends actions to the broker."""
    operator = request.app.state.operator
    assert isinstance(operator, Operator)
    return operator


def caller_of(request: Request) -> Caller:
    """Return the caller of a request. The route's access check has already accepted the caller."""
    caller = request.state.caller
    assert isinstance(caller, Caller)
    return caller


async def carried_out(
    request: Request, command: str, given: BaseModel, answer: type[_Answer]
) -> _Answer:
    """Execute a broker command on behalf of a request's caller, and return the broker's result.

    `given` contains the arguments of the command, and `answer` is the type of the result.
    """
    return await carried_out_by(operator_of(request), request, command, given, answer)


async def carried_out_by(
    operator: Operator, request: Request, command: str, given: BaseModel, answer: type[_Answer]
) -> _Answer:
    """Execute a broker command through `operator`, and return the broker's result.

    The operator executes one command at a time. `given` contains the arguments of the command, and
    `answer` is the type of the result.
    """
    caller = caller_of(request)
    return await operator.carry_out(command, given, caller, host_of(request), answer)


def takes(access: Admission, model: type[BaseModel], *also: int) -> dict[str, Any]:
    """Return the FastAPI options of a route that accepts JSON from callers with a certain role.

    `access` is the check of the caller's role. `model` is used only to describe the request body in
    the OpenAPI description. The route itself reads the body with `given_in`, which limits its size.
    Further arguments are additional status codes to document.
    """
    reference = {"$ref": f"#/components/schemas/{model.__name__}"}
    content = {"application/json": {"schema": reference}}
    return {
        "dependencies": [Depends(access)],
        "responses": described(*sorted({*_PROBLEMS, *also})),
        "openapi_extra": {"requestBody": {"required": True, "content": content}},
    }


async def given_in(request: Request, model: type[_Given]) -> _Given:
    """Read the body of a request and validate it against a model.

    Raises:
        FormRefused: a page of another site sent the request, or the body is invalid.
    """
    login = caller_of(request).login
    if login is not None:
        refuse_foreign(request, request.app.state.hosts)
        if not is_same_secret(request.headers.get(FORM_TOKEN_HEADER), login.form_token):
            raise FormRefused(
                "With a cookie, X-Form-Token has to be the `token` of this browser's forms.", 403
            )
    body = await body_of(request, "application/json")
    try:
        return model.model_validate_json(body)
    except ValidationError as error:
        raise FormRefused(f"{sentence_of(error)}.", 422) from None


@actions.get(
    "/bans",
    dependencies=[Depends(VIEWERS), Depends(refuse_unknown)],
    responses=described(401, 403, 422, 502, 503),
    summary="All bans, page by page",
)
async def bans(
    request: Request,
    first: Annotated[int, Query(ge=0, le=2**31, description="The `next` of the page before.")] = 0,
) -> BanPage:
    """List the active bans, oldest first, up to 100 per page."""
    return await observer_of(request).bans(first)


@actions.post("/kick", summary="Disconnect a client", **takes(OPERATORS, Kick, 404))
async def kick(request: Request) -> Kicked:
    """Close a client's connection. Requires the role `operator` or `administrator`.

    The client's session and queued messages are kept. The client may connect again.
    """
    return await carried_out(request, "kick", await given_in(request, Kick), Kicked)


@actions.post("/ban", summary="Ban a client, a user or an address", **takes(OPERATORS, NewBan))
async def ban(request: Request) -> Banned:
    """Ban a client, a user or an address, and close the affected connections.

    Requires the role `operator` or `administrator`.
    """
    return await carried_out(request, "ban", await given_in(request, NewBan), Banned)


@actions.post("/lift-ban", summary="Lift a ban", **takes(OPERATORS, OldBan, 404))
async def lift_ban(request: Request) -> Lifted:
    """Lift a ban on a client, a user or an address.

    Requires the role `operator` or `administrator`.
    """
    return await carried_out(request, "lift_ban", await given_in(request, OldBan), Lifted)


@actions.post(
    "/reload", summary="Read the configuration again", **takes(ADMINISTRATORS, Reload, 409)
)
async def reload(request: Request) -> Reloaded:
    """Reload configuration, users, rules and certificates. Requires the role `administrator`.

    Status 409 means that a file has a mistake and nothing has changed.
    """
    return await carried_out(request, "reload", await given_in(request, Reload), Reloaded)


@actions.post(
    "/restart", summary="Restart the gateway's programs", **takes(ADMINISTRATORS, Restart, 409)
)
async def restart(request: Request) -> Restarted:
    """Restart the broker, the bridge and the other programs. Requires the role `administrator`.

    Acknowledged messages are not lost. Sensors are not read during the restart, so readings are
    lost if a sensor does not store them. Status 409 means that the gateway does not run under
    systemd, which is required for a restart.
    """
    return await carried_out(request, "restart", await given_in(request, Restart), Restarted)


@actions.post("/reboot", summary="Restart the machine", **takes(ADMINISTRATORS, Restart, 409))
async def reboot(request: Request) -> Restarted:
    """Shut the machine down in an orderly way and start it again.

    Requires the role `administrator`. Status 409 means that the gateway does not run under systemd,
    which is required for a restart.
    """
    return await carried_out(request, "reboot", await given_in(request, Restart), Restarted)
