"""The page on which administrators update the system on the SD card."""

from collections.abc import Callable, Mapping

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from pydantic import BaseModel

from api.forms import form_of
from api.login.admission import ADMINISTRATORS
from api.models.network import Requested
from api.models.updates import GoBack, InstallUpdate
from api.pages.actions import FORM_FAILURES, refuse_stale, shown_of
from api.pages.page import rendered
from api.rest.actions import carried_out
from api.rest.status import card_of

updates_page = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@updates_page.get("/system/update", dependencies=[Depends(ADMINISTRATORS)])
async def update(request: Request) -> Response:
    """Show the system slots and the progress of an update.

    The page links to the forms for installing an update and for going back to the version in the
    other slot.
    """
    return _page(request)


@updates_page.get("/system/update/install", dependencies=[Depends(ADMINISTRATORS)])
async def ask_install(request: Request) -> Response:
    """Show the form for installing an update."""
    return _form(request, "install")


@updates_page.get("/system/update/back", dependencies=[Depends(ADMINISTRATORS)])
async def ask_back(request: Request) -> Response:
    """Show the confirmation page for going back to the version in the other system slot."""
    return _form(request, "back")


@updates_page.post("/system/update/install", dependencies=[Depends(ADMINISTRATORS)])
async def do_install(request: Request) -> Response:
    """Install the update named in a submitted form, and redirect to the update page."""
    return await _done(request, "install", "install_update", _install_in)


@updates_page.post("/system/update/back", dependencies=[Depends(ADMINISTRATORS)])
async def do_back(request: Request) -> Response:
    """Go back to the version in the other system slot when the form is submitted.

    Then redirect to the update page.
    """
    return await _done(request, "back", "go_back", _back_in)


def _install_in(fields: Mapping[str, str]) -> InstallUpdate:
    """Convert a form to the arguments of the broker command `install_update`.

    Raises ValidationError if a value is invalid.
    """
    own = fields.get("own_password", "")
    return InstallUpdate(source=fields.get("source", "").strip(), own_password=own)


def _back_in(fields: Mapping[str, str]) -> GoBack:
    """Convert a form to the arguments of the broker command `go_back`.

    Raises ValidationError if a value is invalid.
    """
    return GoBack(own_password=fields.get("own_password", ""))


async def _done(
    request: Request, form: str, command: str, given_in: Callable[[Mapping[str, str]], BaseModel]
) -> Response:
    fields: Mapping[str, str] = {}
    try:
        fields = await form_of(request, request.app.state.hosts)
        refuse_stale(request, fields)
        await carried_out(request, command, given_in(fields), Requested)
    except FORM_FAILURES as failure:
        return _form(request, form, fields.get("source", ""), *shown_of(failure))
    return RedirectResponse("/system/update", 303)


def _page(request: Request) -> Response:
    card = card_of(request)
    status_code = 200 if card is not None else 404
    return rendered(request, "update.html", status_code=status_code, card=card)


def _form(
    request: Request,
    form: str,
    source: str = "",
    problem: str | None = None,
    status_code: int = 200,
) -> Response:
    card = card_of(request)
    if card is None and problem is None:
        return _page(request)
    facts = None if card is None else card.facts
    return rendered(
        request,
        "update_form.html",
        status_code=status_code,
        form=form,
        source=source,
        problem=problem,
        facts=facts,
    )
