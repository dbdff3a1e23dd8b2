"""The page on which administrators change the gateway's host name and network settings.

A change takes effect immediately, but it is undone after five minutes unless an administrator keeps
it.
"""

from collections.abc import Mapping
from typing import Final

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from api.forms import form_of
from api.login.admission import ADMINISTRATORS
from api.models.network import Answered, ChangeNetwork, Network, Requested
from api.pages.actions import FORM_FAILURES, refuse_stale, shown_of
from api.pages.page import rendered
from api.rest.actions import carried_out
from api.rest.network import NOT_A_CARD, network_of

_SENT_AGAIN: Final = (
    "hostname", "wifi", "wifi_ssid", "wifi_country", "wifi_hidden",
    "ethernet", "ethernet_address", "ethernet_gateway", "ethernet_dns", "ethernet_interface",
)  # fmt: skip
"""Fields that are filled in again if a submitted form has a mistake: all except passwords."""

network_page = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


@network_page.get("/system/network", dependencies=[Depends(ADMINISTRATORS)])
async def network(request: Request) -> Response:
    """Show the host name and the network settings, and any change that is not confirmed yet."""
    found = network_of(request)
    status_code = 200 if found is not None else 404
    return rendered(request, "network.html", status_code=status_code, network=found, problem=None)


@network_page.get("/system/network/change", dependencies=[Depends(ADMINISTRATORS)])
async def ask_change(request: Request) -> Response:
    """Show the form for changing the host name and the network settings."""
    found = network_of(request)
    if found is None:
        problem = f"{NOT_A_CARD[:1].upper()}{NOT_A_CARD[1:]}."
        return _form(request, {}, problem, 404, has_network=False)
    return _form(request, _fields_of(found))


@network_page.post("/system/network/change", dependencies=[Depends(ADMINISTRATORS)])
async def do_change(request: Request) -> Response:
    """Apply the host name and network settings from a form, and show the gateway's new address.

    The response does not redirect, because the old address may no longer work.
    """
    fields: Mapping[str, str] = {}
    try:
        fields = await form_of(request, request.app.state.hosts)
        refuse_stale(request, fields)
        given = _change_in(fields)
        await carried_out(request, "change_network", given, Requested)
    except FORM_FAILURES as failure:
        has_network = network_of(request) is not None
        return _form(request, fields, *shown_of(failure), has_network=has_network)
    port = request.url.port
    base = f"{request.url.scheme}://", "" if port is None else f":{port}"
    return rendered(
        request, "network_form.html", problem=None, asked=given, has_network=True, base=base,
        fields={},
    )  # fmt: skip


@network_page.post("/system/network/keep", dependencies=[Depends(ADMINISTRATORS)])
async def do_keep(request: Request) -> Response:
    """Keep the network change, so that it is not undone after five minutes."""
    return await _answered(request, "keep_network")


@network_page.post("/system/network/undo", dependencies=[Depends(ADMINISTRATORS)])
async def do_undo(request: Request) -> Response:
    """Undo the network change that is not confirmed yet."""
    return await _answered(request, "undo_network")


async def _answered(request: Request, command: str) -> Response:
    try:
        refuse_stale(request, await form_of(request, request.app.state.hosts))
        await carried_out(request, command, Answered(), Requested)
    except FORM_FAILURES as failure:
        problem, status_code = shown_of(failure)
        found = network_of(request)
        return rendered(
            request, "network.html", status_code=status_code, network=found, problem=problem
        )
    return RedirectResponse("/system/network", 303)


def _fields_of(network: Network) -> dict[str, str]:
    """Return the current settings as fields of the form."""
    wifi, ethernet = network.wifi, network.ethernet
    return {
        "hostname": network.hostname,
        "wifi_ssid": wifi.ssid if wifi else "",
        "wifi_country": (wifi.country or "") if wifi else "",
        "wifi_hidden": "yes" if wifi and wifi.hidden else "",
        "ethernet_address": ethernet.address if ethernet else "",
        "ethernet_gateway": (ethernet.gateway or "") if ethernet else "",
        "ethernet_dns": ", ".join(ethernet.dns) if ethernet else "",
        "ethernet_interface": (ethernet.interface or "") if ethernet else "",
        "before": network.hostname,
    }


def _change_in(fields: Mapping[str, str]) -> ChangeNetwork:
    """Convert the fields of a form to the arguments of the broker command for network changes.

    Raises ValidationError if a value is invalid.
    """
    values: dict[str, object] = {name: fields[name] for name in _SENT_AGAIN if fields.get(name)}
    if values.get("hostname") == fields.get("before"):
        values.pop("hostname", None)
    if values.get("wifi") != "join":
        values = {name: each for name, each in values.items() if not name.startswith("wifi_")}
    else:
        values["wifi_password"] = fields.get("wifi_password", "")
        values["wifi_hidden"] = values.get("wifi_hidden") == "yes"
    if values.get("ethernet") != "fixed":
        values = {name: each for name, each in values.items() if not name.startswith("ethernet_")}
    else:
        values["ethernet_dns"] = str(values.get("ethernet_dns", "")).replace(",", " ").split()
    return ChangeNetwork.model_validate({**values, "own_password": fields.get("own_password", "")})


def _form(
    request: Request,
    fields: Mapping[str, str],
    problem: str | None = None,
    status_code: int = 200,
    *,
    has_network: bool = True,
) -> Response:
    shown = {name: fields.get(name, "") for name in (*_SENT_AGAIN, "before")}
    return rendered(
        request,
        "network_form.html",
        status_code=status_code,
        fields=shown,
        problem=problem,
        asked=None,
        has_network=has_network,
    )
