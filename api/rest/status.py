"""Read-only REST routes that return the status socket's responses as typed JSON.

The routes accept only GET and HEAD. ``conditional`` adds ETags, ``problems`` defines the form of
errors, and ``admission`` controls access.

``/healthz`` reports that this process is running. It does not query other processes. ``/readyz``
reports whether the broker responds.
"""

from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request
from pydantic import BaseModel
from starlette.convertors import Convertor, register_url_convertor

from api import limits
from api.login.admission import EVERYONE, VIEWERS
from api.models.bridge import found_device
from api.models.broker import BrokerStatus
from api.models.configuration import ShownConfiguration
from api.models.home_assistant import InHomeAssistant
from api.models.reports import SerialReport, UplinkReport, UploadReport
from api.models.session_filters import Search, Sort, State
from api.models.sessions import SessionDetail, SessionPage
from api.problems import ADDRESS_TOO_LONG, SESSIONS_REFUSED, described
from api.rest.query_parameters import refuse_unknown
from api.status.card import CardReader, CardReport
from api.status.home_assistant import in_home_assistant
from api.status.observer import Observer

_CLIENT_ID_DESCRIPTION: Final = "The client identifier, percent-encoded."


class _ClientIdConvertor(Convertor[str]):
    """URL convertor for client identifiers. It matches the rest of the path, including line feeds.

    Starlette's own convertor ``path`` stops at a line feed, which is allowed in a client
    identifier. With ``path``, a request for ``a`` followed by a line feed would show the session of
    ``a``.
    """

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("client_id", _ClientIdConvertor())


class Alive(BaseModel):
    status: Literal["alive"] = "alive"


class Ready(BaseModel):
    status: Literal["ready"] = "ready"
    broker_state: str


rest = APIRouter(
    prefix="/api/v1",
    tags=["gateway"],
    dependencies=[Depends(VIEWERS), Depends(refuse_unknown)],
    responses=described(401, 403, 422),
)
probes = APIRouter(tags=["probes"], dependencies=[Depends(EVERYONE)])


def observer_of(request: Request) -> Observer:
    """Return this process's observer, which queries the broker."""
    observer = request.app.state.observer
    assert isinstance(observer, Observer)
    return observer


def card_of(request: Request) -> CardReport | None:
    """Return the SD card's report, or None if this machine does not run from an SD card."""
    reader = request.app.state.card
    assert isinstance(reader, CardReader)
    return reader.read()


@rest.get("/configuration", responses=described(502, 503), summary="The configuration in force")
async def configuration(request: Request) -> ShownConfiguration:
    """Return each key with its value and where it was set. Secrets are masked."""
    return await observer_of(request).configuration()


@rest.get("/status", responses=described(502, 503), summary="The broker's status")
async def status(request: Request) -> BrokerStatus:
    """Return the broker's counters since its start, and the state of its queues and journal.

    Warnings are also included. `time_ms` is the time of the broker's response. The response is at
    most a quarter of a second old.
    """
    return (await observer_of(request).overview()).broker


@rest.get(
    "/sessions",
    responses={**described(502, 503), **SESSIONS_REFUSED},
    summary="Sessions that match, page by page",
)
async def sessions(
    request: Request,
    *,
    search: Annotated[
        str, Query(max_length=limits.SEARCH_CHARACTERS_MAX, description="Part of the client id.")
    ] = "",
    state: Annotated[
        State, Query(description="Only sessions in this state; `drops`: that lost messages.")
    ] = State.ALL,
    user: Annotated[
        str, Query(max_length=limits.USERNAME_BYTES_MAX, description="Only those of this user.")
    ] = "",
    sort: Annotated[
        Sort, Query(description="By name, the longest silent first, or the largest number first.")
    ] = Sort.CLIENT_ID,
    after: Annotated[
        str | None,
        Query(
            max_length=limits.CLIENT_ID_CHARACTERS_MAX + limits.SORT_CHARACTERS_MAX,
            description="The `next` of the page before, with the same `sort`.",
        ),
    ] = None,
    limit: Annotated[
        int,
        Query(
            ge=1, le=limits.SESSIONS_PER_REQUEST_MAX, description="Sessions on a page, at the most."
        ),
    ] = limits.SESSIONS_PER_REQUEST_DEFAULT,
) -> SessionPage:
    """List the sessions of connected and disconnected clients, by default sorted by client id."""
    wanted = Search(search=search, state=state, user=user, sort=sort)
    return await observer_of(request).sessions(after=after, limit=limit, chosen=wanted.chosen)


@rest.get(
    "/session",
    responses=described(404, 502, 503) | ADDRESS_TOO_LONG,
    summary="One session, whatever its id",
)
async def session_by_query(
    request: Request,
    client_id: Annotated[
        str,
        Query(max_length=limits.CLIENT_ID_CHARACTERS_MAX, description=_CLIENT_ID_DESCRIPTION),
    ],
) -> SessionDetail:
    """Return a session as `/api/v1/sessions/{client_id}` does, but for any client id.

    Here the id is a query parameter, because ids such as `.` and `..` cannot be part of a path.
    """
    return await observer_of(request).session(client_id)


@rest.get(
    "/sessions/{client_id:client_id}",
    responses=described(404, 502, 503) | ADDRESS_TOO_LONG,
    summary="One session",
)
async def session(
    request: Request,
    client_id: Annotated[
        str, Path(max_length=limits.CLIENT_ID_CHARACTERS_MAX, description=_CLIENT_ID_DESCRIPTION)
    ],
) -> SessionDetail:
    """Return a session with its subscriptions and messages in transit.

    The client id may contain slashes.
    """
    return await observer_of(request).session(client_id)


@rest.get("/serial", responses=described(502, 503), summary="Serial ports and latest readings")
async def serial(request: Request) -> SerialReport:
    """Return the bridge's latest report and its age."""
    return (await observer_of(request).overview()).serial


@rest.get(
    "/serial/home-assistant",
    responses=described(404, 502, 503),
    summary="One device's state in Home Assistant",
)
async def home_assistant(
    request: Request,
    device: Annotated[
        str, Query(max_length=limits.SERIES_NAME_CHARACTERS_MAX, description="The device's name.")
    ],
) -> InHomeAssistant:
    """Return whether Home Assistant can show a device, and if not, how to fix the problem.

    The response contains the retained messages with the device's description and availability.
    """
    observer = observer_of(request)
    bridge = (await observer.overview()).serial.status
    if bridge is None or found_device(bridge, device) is None:
        raise HTTPException(404, "The bridge reports no device of this name.")
    return await in_home_assistant(observer, bridge, device)


@rest.get("/upload", responses=described(502, 503), summary="The session log's upload")
async def upload(request: Request) -> UploadReport:
    """Return the uploader's latest report and its age."""
    return (await observer_of(request).overview()).upload


@rest.get("/uplink", responses=described(502, 503), summary="The uplink to an upstream broker")
async def uplink(request: Request) -> UplinkReport:
    """Return the uplink's latest report and its age. All fields are null if there is no uplink."""
    return (await observer_of(request).overview()).uplink


@rest.get("/card", responses=described(404), summary="The SD card: slots, updates, wear")
async def card(request: Request) -> CardReport:
    """Return the SD card's report: system slots, last update, settings in gateway.toml, and wear.

    The report lists the settings that were applied, or the invalid lines of gateway.toml.
    The status is 404 if the gateway does not run from the SD card image, or is still starting.
    """
    report = card_of(request)
    if report is None:
        raise HTTPException(
            404, "This gateway does not run from the SD card's image, or its start is not over."
        )
    return report


@probes.get("/healthz", summary="Does this process live?")
async def healthz() -> Alive:
    """Return 200 while this process runs, even if the broker is down."""
    return Alive()


@probes.get("/readyz", responses=described(502, 503), summary="Does the broker answer?")
async def readyz(request: Request) -> Ready:
    """Return 200 while the broker responds on its status socket."""
    return Ready(broker_state=(await observer_of(request).overview()).broker.state)


def operation_id_of(route: Any) -> str:
    """Return the name of a route's function. Generated clients use it to name their methods."""
    return str(route.name)
