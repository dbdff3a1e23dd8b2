"""The status page. It is rendered on the server, works without JavaScript, and is limited in size.

If the broker responds, the page has status 200. It contains all reports from the gateway's
processes, their age, and warnings. Otherwise, the status is 502 or 503, and the page shows the
reason and the fix. All untrusted text is escaped, so that no name can change the layout or the text
around it. ``templates/`` and ``assets/`` define the design.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote

from fastapi import APIRouter, Depends, HTTPException, Request
from fastapi.responses import HTMLResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from api import limits, wording
from api.alarms.conditions.card import UPDATE_NEEDS_ATTENTION
from api.alarms.conditions.condition import Level
from api.alarms.verdict import Verdict, verdict_of
from api.drawing import parts
from api.drawing.devices import shown_on_overview
from api.drawing.overview_lines import lines_of
from api.login.admission import EVERYONE, VIEWERS, Caller
from api.login.roles import Role
from api.problems import retry_headers_of
from api.rest.alarms import watch_of
from api.rest.history import history_of
from api.rest.status import card_of, observer_of
from api.status import wear
from api.status.control_socket import BrokerProblem

_ROOM: Final = Path(__file__).parents[1]


@dataclass(frozen=True)
class Asset:
    """A static file that the web pages use. It is read only once.

    Its URL contains a digest of its contents.
    """

    media_type: str
    body: bytes

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.body).hexdigest()[:16]


NAVIGATION: Final = (
    ("Overview", "/"),
    ("Sensors", "/sensors"),
    ("Clients", "/clients"),
    ("Topics", "/topics"),
    ("Log", "/log"),
    ("Alarms", "/alarms"),
    ("System", "/system"),
)
"""Links in the header of every page: title and path."""

_MEDIA_TYPES: Final = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}

ASSETS: Final = {
    path.name: Asset(_MEDIA_TYPES[path.suffix], path.read_bytes())
    for path in sorted((_ROOM / "assets").iterdir())
}


def asset_url_of(name: str) -> str:
    """Return the URL of an asset.

    The URL contains the asset's digest, so that browsers can cache the asset.
    """
    return f"/assets/{name}?v={ASSETS[name].digest}"


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_ROOM / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        address=wording.address_of,
        iso=wording.iso_of,
        marked=wording.marked_of,
        sentence=wording.sentence_of,
        visible=wording.visible_of,
        duration=wording.duration_of,
        clock=wording.clock_of,
        moment=wording.moment_of,
        count=wording.count_of,
        counted=wording.counted_of,
        bytes=wording.bytes_of,
        bytewise=wording.bytewise_of,
        printable=wording.printable_of,
        value=wording.value_of,
        share=wording.share_of,
        unit=wording.unit_of,
        quantity_name=wording.quantity_name_of,
        protocol=wording.protocol_of,
        start=wording.start_of,
        years=wear.years_of,
        path=lambda text: quote(text, safe=""),
    )
    environment.globals.update(
        navigation=NAVIGATION,
        age_of=wording.age_of,
        asset_url_of=asset_url_of,
        limits=limits,
        Level=Level,
        update_needs_a_look=UPDATE_NEEDS_ATTENTION,
    )
    return environment


_TEMPLATES: Final = _environment()

page = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)


def html_of(template: str, **values: object) -> str:
    """Render a template as HTML."""
    return _TEMPLATES.get_template(template).render(values)


def rendered(
    request: Request, template: str, *, status_code: int = 200, **values: object
) -> Response:
    """Render a template as the response to a request.

    If the request comes from the script of an open page, the response contains only the parts that
    have changed.
    """
    caller: Caller | None = request.state.caller
    values["caller"] = caller
    values["path"] = request.url.path
    values["gateway"] = observer_of(request).gateway
    values["may_operate"] = caller is not None and caller.role >= Role.OPERATOR
    values["may_administer"] = caller is not None and caller.role >= Role.ADMINISTRATOR
    html = html_of(template, **values)
    known_parts = request.headers.get(parts.HEADER)
    if known_parts is not None:
        return parts.parts_response(html, known_parts, status_code=status_code)
    return HTMLResponse(
        html.replace(parts.SEPARATOR, ""),
        status_code=status_code,
        headers=retry_headers_of(status_code),
    )


@page.get("/", dependencies=[Depends(VIEWERS)])
async def overview_page(request: Request) -> Response:
    """Show the overview of the gateway, with the sensors first."""
    history = history_of(request)
    try:
        overview = await observer_of(request).overview()
    except BrokerProblem as problem:
        return down_page(request, problem)
    watch = watch_of(request)
    verdict: Verdict = verdict_of(watch.conditions_in(overview))
    now_ms = overview.broker.time_ms
    bridge = overview.serial.status
    devices, devices_left = (
        ([], 0) if bridge is None else shown_on_overview(bridge, history, now_ms=now_ms)
    )
    return rendered(
        request,
        "overview.html",
        overview=overview,
        broker=overview.broker,
        now_ms=now_ms,
        verdict=verdict,
        devices=devices,
        devices_left=devices_left,
        lines=list(lines_of(overview, history.last_hour)),
        history_problem=history.problem,
        to_acknowledge=sum(not each.is_present for each in watch.active()),
    )


@page.get("/assets/{name}", dependencies=[Depends(EVERYONE)])
async def asset(request: Request, name: str, v: str = "") -> Response:
    """Return a style sheet, script or image of the page.

    Browsers may cache it for a year if `v` is the digest of the current file.
    """
    found = ASSETS.get(name)
    if found is None:
        raise HTTPException(404, "There is no such file.")
    headers = {
        "ETag": f'"{found.digest}"',
        "Cache-Control": "public, max-age=31536000, immutable" if v == found.digest else "no-cache",
    }
    if headers["ETag"] in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(found.body, media_type=found.media_type, headers=headers)


def down_page(request: Request, problem: BrokerProblem) -> Response:
    """Return the page that is shown if the broker does not respond, with the reason and the fix."""
    return rendered(
        request,
        "down.html",
        status_code=problem.status_code,
        problem=problem,
        last=observer_of(request).last_overview,
        card=card_of(request),
    )
