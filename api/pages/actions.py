"""Pages on which people execute actions: a confirmation page with a form, then the result.

The pages work without JavaScript. A GET request changes nothing. A form is accepted only if it was
sent from one of this server's pages and contains the token of the browser's login. If an action
fails, the page shows the reason and the fix.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response
from pydantic import BaseModel, ValidationError

from api import limits
from api.forms import FormRefused, form_of, is_same_secret
from api.login.admission import ADMINISTRATORS, OPERATORS, VIEWERS
from api.mistakes import LABELS, sentence_of
from api.models.actions import (
    Banned,
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
from api.models.topics import Cleared, ClearRetained, Published, PublishMessage
from api.pages.page import rendered
from api.problems import fix_of, status_of
from api.rest.actions import caller_of, carried_out
from api.rest.status import observer_of
from api.status.consequences import consequences_of
from api.status.control_socket import BrokerProblem
from gateway.process.control.messages import Refused

_Value = Annotated[str, Query(max_length=limits.LINKED_CHARACTERS_MAX)]
_CONFIRMED: Final = "yes"
"""Value of the field `confirmed` if the user saw the consequences before sending the form."""
_STALE: Final = "The form was out of date. Check it and send it again."
_ANSWERS: Final[Mapping[str, tuple[type[BaseModel], type[BaseModel]]]] = {
    "kick": (Kick, Kicked),
    "ban": (NewBan, Banned),
    "lift_ban": (OldBan, Lifted),
    "reload": (Reload, Reloaded),
    "restart": (Restart, Restarted),
    "reboot": (Restart, Restarted),
    "publish": (PublishMessage, Published),
    "clear_retained": (ClearRetained, Cleared),
}

FORM_FAILURES: Final = (ValidationError, FormRefused, BrokerProblem, Refused)
"""Exceptions of an action that the page shows as a message above the form."""

actions_page = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@actions_page.get("/bans", dependencies=[Depends(VIEWERS)])
async def bans_page(request: Request, first: Annotated[int, Query(ge=0, le=2**31)] = 0) -> Response:
    """Show the active bans, starting with the ban at index `first`."""
    try:
        page = await observer_of(request).bans(first)
    except BrokerProblem as problem:
        text = f"{problem.reason} {problem.fix}"
        return rendered(
            request, "bans.html", status_code=problem.status_code, page=None, problem=text
        )
    return rendered(request, "bans.html", page=page, problem=None)


@actions_page.get("/actions/kick", dependencies=[Depends(OPERATORS)])
async def ask_kick(request: Request, client_id: _Value) -> Response:
    """Show the confirmation page for disconnecting a client."""
    return await _asked_with_consequences(request, "kick", {"client_id": client_id})


@actions_page.get("/actions/ban", dependencies=[Depends(OPERATORS)])
async def ask_ban(request: Request, kind: _Value = "client", value: _Value = "") -> Response:
    """Show the form for a new ban, filled in with `kind` and `value`."""
    return await _asked_with_consequences(request, "ban", {"kind": kind, "value": value})


@actions_page.get("/actions/lift-ban", dependencies=[Depends(OPERATORS)])
async def ask_lift_ban(request: Request, kind: _Value, value: _Value) -> Response:
    """Show the confirmation page for lifting a ban."""
    return _asked(request, "lift_ban", {"kind": kind, "value": value})


@actions_page.get("/actions/reload", dependencies=[Depends(ADMINISTRATORS)])
async def ask_reload(request: Request) -> Response:
    """Show the confirmation page for reloading the configuration."""
    return _asked(request, "reload", {})


@actions_page.get("/actions/restart", dependencies=[Depends(ADMINISTRATORS)])
async def ask_restart(request: Request) -> Response:
    """Show the confirmation page for restarting the gateway's programs."""
    return _asked(request, "restart", {})


@actions_page.get("/actions/reboot", dependencies=[Depends(ADMINISTRATORS)])
async def ask_reboot(request: Request) -> Response:
    """Show the confirmation page for restarting the machine."""
    return _asked(request, "reboot", {})


@actions_page.get("/actions/publish", dependencies=[Depends(OPERATORS)])
async def ask_publish(request: Request, topic: _Value = "") -> Response:
    """Show the form for publishing a message."""
    return _asked(request, "publish", {"topic": topic})


@actions_page.get("/actions/clear-retained", dependencies=[Depends(OPERATORS)])
async def ask_clear_retained(request: Request, topic: _Value) -> Response:
    """Show the confirmation page for clearing a retained message."""
    return _asked(request, "clear_retained", {"topic": topic})


@actions_page.post("/actions/publish", dependencies=[Depends(OPERATORS)])
async def do_publish(request: Request) -> Response:
    """Publish the message from a submitted form, and show the result."""
    return await _done(request, "publish")


@actions_page.post("/actions/clear-retained", dependencies=[Depends(OPERATORS)])
async def do_clear_retained(request: Request) -> Response:
    """Clear the retained message named in a submitted form, and show the result."""
    return await _done(request, "clear_retained")


@actions_page.post("/actions/kick", dependencies=[Depends(OPERATORS)])
async def do_kick(request: Request) -> Response:
    """Disconnect the client named in a submitted form, and show the result."""
    return await _done(request, "kick")


@actions_page.post("/actions/ban", dependencies=[Depends(OPERATORS)])
async def do_ban(request: Request) -> Response:
    """Ban the client, user or address named in a submitted form, and show the result."""
    return await _done(request, "ban")


@actions_page.post("/actions/lift-ban", dependencies=[Depends(OPERATORS)])
async def do_lift_ban(request: Request) -> Response:
    """Lift the ban named in a submitted form, and show the result."""
    return await _done(request, "lift_ban")


@actions_page.post("/actions/reload", dependencies=[Depends(ADMINISTRATORS)])
async def do_reload(request: Request) -> Response:
    """Reload the configuration when the form is submitted, and show the result."""
    return await _done(request, "reload")


@actions_page.post("/actions/restart", dependencies=[Depends(ADMINISTRATORS)])
async def do_restart(request: Request) -> Response:
    """Restart the gateway's programs when the form is submitted, and show the result."""
    return await _done(request, "restart")


@actions_page.post("/actions/reboot", dependencies=[Depends(ADMINISTRATORS)])
async def do_reboot(request: Request) -> Response:
    """Restart the machine when the form is submitted, and show the result."""
    return await _done(request, "reboot")


def refuse_stale(request: Request, fields: Mapping[str, str]) -> None:
    """Check that a form contains the token of this browser's login.

    Raises FormRefused if the token is missing or belongs to another login.
    """
    login = caller_of(request).login
    if login is None or not is_same_secret(fields.get("token"), login.form_token):
        raise FormRefused(_STALE, 403)


def shown_of(failure: Exception) -> tuple[str, int]:
    """Return the text and the HTTP status code to show for a failed action.

    `failure` must be one of the exceptions in ``FORM_FAILURES``.
    """
    match failure:
        case ValidationError():
            return f"{sentence_of(failure, LABELS)}.", 422
        case FormRefused():
            return str(failure), failure.status_code
        case BrokerProblem():
            return f"{failure.reason} {failure.fix}", failure.status_code
        case Refused():
            message = failure.message[:1].upper() + failure.message[1:]
            return f"{message}. {fix_of(failure) or ''}", status_of(failure)
    raise failure


async def _asked_with_consequences(
    request: Request, command: str, fields: Mapping[str, str]
) -> Response:
    found = await consequences_of(observer_of(request), command, fields)
    return _asked(request, command, fields, consequences=found)


def _asked(
    request: Request,
    command: str,
    fields: Mapping[str, str],
    problem: str | None = None,
    status_code: int = 200,
    *,
    consequences: Sequence[str] = (),
) -> Response:
    return rendered(
        request,
        "action.html",
        status_code=status_code,
        command=command,
        fields=fields,
        problem=problem,
        consequences=consequences,
        result=None,
    )


async def _done(request: Request, command: str) -> Response:
    fields: Mapping[str, str] = {}
    given, answer = _ANSWERS[command]
    try:
        fields = await form_of(request, request.app.state.hosts)
        refuse_stale(request, fields)
        subject = _given_in(fields, given)
        found = await consequences_of(observer_of(request), command, fields)
        if found and fields.get("confirmed") != _CONFIRMED:
            return _asked(request, command, fields, consequences=found)
        result = await carried_out(request, command, subject, answer)
    except FORM_FAILURES as failure:
        return _asked(request, command, fields, *shown_of(failure))
    return rendered(
        request,
        "action.html",
        command=command,
        fields=fields,
        problem=None,
        consequences=(),
        result=result,
    )


def _given_in(fields: Mapping[str, str], model: type[BaseModel]) -> BaseModel:
    """Convert the fields of a form to a model. Raises ValidationError if a value is invalid."""
    values: dict[str, object] = {
        name: fields[name] for name in model.model_fields if fields.get(name)
    }
    if isinstance(values.get("seconds"), str):
        try:
            values["seconds"] = float(str(values["seconds"]))
        except ValueError:
            values["seconds"] = -1.0  # the model rejects this value, and names the field
    if "payload" in values:
        values["payload"] = str(values["payload"]).replace("\r\n", "\n")  # HTML 4.10.21.4 adds CR
    if "qos" in values:
        values["qos"] = {"1": 1, "2": 2}.get(str(values["qos"]), -1)
    if "retain" in values:
        values["retain"] = values["retain"] == _CONFIRMED
    return model.model_validate(values)
