"""The REST interface: what the status socket reports, as typed JSON. Read-only.

Promise: GET and HEAD only, never cached, errors as in ``problems``; who may ask is decided by
``admission``. ``/healthz`` reports that this
process runs and asks no other process; ``/readyz`` reports whether the broker answers.
"""

from typing import Annotated, Any, Final, Literal

from fastapi import APIRouter, Depends, HTTPException, Path, Query, Request
from pydantic import BaseModel
from starlette.convertors import Convertor, register_url_convertor

from api import limits
from api.admission import EVERYONE, VIEWERS
from api.card import CardReader, CardReport
from api.models.broker import BrokerStatus
from api.models.reports import SerialReport, UplinkReport, UploadReport
from api.models.sessions import SessionDetail, SessionPage
from api.observer import Observer
from api.problems import described

_CLIENT_ID_DESCRIPTION: Final = "The client identifier, percent-encoded."


class _ClientIdConvertor(Convertor[str]):
    """The rest of the path, whatever it holds.

    Starlette's own ``path`` stops at a line feed, which a client id may contain: the session of
    ``a`` would be shown for the client id ``a`` and a line feed.
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
    dependencies=[Depends(VIEWERS)],
    responses=described(401, 403),
)
probes = APIRouter(tags=["probes"], dependencies=[Depends(EVERYONE)])


def observer_of(request: Request) -> Observer:
    """Return the process's one observer."""
    observer = request.app.state.observer
    assert isinstance(observer, Observer)
    return observer


def card_of(request: Request) -> CardReport | None:
    """Read the report of the SD card's system; None where this machine has no such card."""
    reader = request.app.state.card
    assert isinstance(reader, CardReader)
    return reader.read()


@rest.get("/status", responses=described(502, 503), summary="The broker's status")
async def status(request: Request) -> BrokerStatus:
    """Return the broker's counters since its start, queues, journal, and warnings to act on.

    `time_ms` is the broker's clock when it answered; the answer is at most a quarter of a second
    old.
    """
    return (await observer_of(request).overview()).broker


@rest.get("/sessions", responses=described(422, 502, 503), summary="All sessions, page by page")
async def sessions(
    request: Request,
    after: Annotated[
        str | None,
        Query(
            max_length=limits.CLIENT_ID_CHARACTERS_MAX,
            description="Start behind this client id: the `next` of the page before.",
        ),
    ] = None,
    limit: Annotated[
        int,
        Query(
            ge=1, le=limits.SESSIONS_PER_REQUEST_MAX, description="Sessions on a page, at the most."
        ),
    ] = limits.SESSIONS_PER_REQUEST_DEFAULT,
) -> SessionPage:
    """List the sessions, connected or not, in the order of their client ids."""
    return await observer_of(request).sessions(after=after, limit=limit)


@rest.get(
    "/session", responses=described(404, 422, 502, 503), summary="One session, whatever its id"
)
async def session_by_query(
    request: Request,
    client_id: Annotated[
        str,
        Query(max_length=limits.CLIENT_ID_CHARACTERS_MAX, description=_CLIENT_ID_DESCRIPTION),
    ],
) -> SessionDetail:
    """Return as `/api/v1/sessions/{client_id}`, for ids that a path cannot have (`.`, `..`)."""
    return await observer_of(request).session(client_id)


@rest.get(
    "/sessions/{client_id:client_id}",
    responses=described(404, 422, 502, 503),
    summary="One session",
)
async def session(
    request: Request,
    client_id: Annotated[
        str, Path(max_length=limits.CLIENT_ID_CHARACTERS_MAX, description=_CLIENT_ID_DESCRIPTION)
    ],
) -> SessionDetail:
    """Return a session with its subscriptions and the messages in flight.

    The client id may contain slashes.
    """
    return await observer_of(request).session(client_id)


@rest.get("/serial", responses=described(502, 503), summary="Serial ports and latest readings")
async def serial(request: Request) -> SerialReport:
    """Return what the bridge reported last, and how long ago."""
    return (await observer_of(request).overview()).serial


@rest.get("/upload", responses=described(502, 503), summary="The session log's upload")
async def upload(request: Request) -> UploadReport:
    """Return what the uploader reported last, and how long ago."""
    return (await observer_of(request).overview()).upload


@rest.get("/uplink", responses=described(502, 503), summary="The uplink to an upstream broker")
async def uplink(request: Request) -> UplinkReport:
    """Return what the uplink reported last, and how long ago; nulls where there is none."""
    return (await observer_of(request).overview()).uplink


@rest.get("/card", responses=described(404), summary="The SD card: slots, updates, wear")
async def card(request: Request) -> CardReport:
    """Return the running slot, the state of the last update and of gateway.toml, and the wear.

    404 where the gateway does not run from the SD card's image, and while a start is not over.
    """
    report = card_of(request)
    if report is None:
        raise HTTPException(
            404, "This gateway does not run from the SD card's image, or its start is not over."
        )
    return report


@probes.get("/healthz", summary="Does this process live?")
async def healthz() -> Alive:
    """Ask no other process: a broker that is down is no reason to restart the page."""
    return Alive()


@probes.get("/readyz", responses=described(502, 503), summary="Does the broker answer?")
async def readyz(request: Request) -> Ready:
    """Return 200 while the broker answers on its status socket."""
    return Ready(broker_state=(await observer_of(request).overview()).broker.state)


def operation_id_of(route: Any) -> str:
    """Return the function's name: generated clients name their method after it."""
    return str(route.name)
