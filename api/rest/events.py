"""REST routes for events of the session log: pages of events, and a stream of new events."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Header, HTTPException, Query, Request
from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from api import limits
from api.login.admission import VIEWERS
from api.models.events import EventPage
from api.problems import ADDRESS_TOO_LONG, described
from api.rest.query_parameters import refuse_unknown
from api.rest.status import observer_of
from api.status.control_socket import BrokerProblem
from api.status.observer import Observer
from gateway.process.control.messages import Refused

SEQUENCE_MAX: Final = 2**62
SKIPPED: Final = "events_skipped"
"""Name of the server-sent event that reports events which the stream does not send."""

ClientId = Annotated[
    str,
    Query(
        max_length=limits.CLIENT_ID_CHARACTERS_MAX,
        description="Only events of this client's sessions.",
    ),
]
Port = Annotated[
    str,
    Query(
        max_length=limits.EVENT_NAME_CHARACTERS_MAX, description="Only events of this serial port."
    ),
]
Names = Annotated[
    list[Annotated[str, Query(max_length=limits.EVENT_NAME_CHARACTERS_MAX)]],
    Query(
        max_length=limits.EVENT_NAMES_MAX,
        description="Only events with these names, as in docs/formats/session-log.md.",
    ),
]
Sequence = Annotated[int | None, Query(ge=0, le=SEQUENCE_MAX)]

events_rest = APIRouter(
    prefix="/api/v1", tags=["events"], dependencies=[Depends(VIEWERS), Depends(refuse_unknown)]
)


class Streams:
    """Counter of the open event streams, with a limit."""

    def __init__(self) -> None:
        self._open = 0

    @contextlib.contextmanager
    def place(self) -> Iterator[None]:
        """Count one more open stream until the `with` block ends.

        Raises HTTPException if too many streams are open.
        """
        if self._open >= limits.EVENT_STREAMS_MAX:
            raise HTTPException(503, f"{limits.EVENT_STREAMS_MAX} streams of events are open.")
        self._open += 1
        try:
            yield
        finally:
            self._open -= 1


class EventStream(StreamingResponse):
    """Response that streams events. It counts towards the limit of `Streams` until it ends."""

    media_type = "text/event-stream"

    def __init__(self, texts: AsyncIterator[str], streams: Streams) -> None:
        super().__init__(texts)
        self._streams = streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._streams.place():
            await super().__call__(scope, receive, send)


@events_rest.get(
    "/events",
    responses=described(401, 403, 422, 502, 503) | ADDRESS_TOO_LONG,
    summary="The newest events of the session log",
)
async def events(
    request: Request,
    *,
    client_id: ClientId = "",
    port: Port = "",
    event: Names = [],  # noqa: B006 - FastAPI copies it
    after: Sequence = None,
    before: Sequence = None,
    limit: Annotated[int, Query(ge=1, le=limits.EVENTS_PER_REQUEST_MAX)] = (
        limits.EVENTS_PER_REQUEST_DEFAULT
    ),
) -> EventPage:
    """List recent events, the newest first, including those from before the last broker restart.

    Only events with sequence numbers above `after` and below `before` are listed.
    """
    wanted = {
        "client_id": client_id,
        "port": port,
        "names": event,
        "after": after or 0,
        "before": before,
        "limit": limit,
    }
    try:
        return await observer_of(request).events(wanted)
    except Refused as refusal:
        raise HTTPException(502, refusal.message) from refusal


@events_rest.get(
    "/events/stream",
    responses=described(401, 403, 422, 503)
    | ADDRESS_TOO_LONG
    | {200: {"content": {"text/event-stream": {}}}},
    response_class=StreamingResponse,
    summary="New events as server-sent events",
)
async def stream(
    request: Request,
    *,
    client_id: ClientId = "",
    port: Port = "",
    event: Names = [],  # noqa: B006 - FastAPI copies it
    last_event_id: Annotated[int | None, Header(ge=0, le=SEQUENCE_MAX)] = None,
) -> EventStream:
    """Send each new event as a server-sent event: `id` is the sequence number, `data` is JSON.

    The stream begins after `Last-Event-ID`, or with the next event if the header is missing. The
    stream ends after 50 seconds, and an `EventSource` then reconnects automatically.

    If more events are new than the stream can send at one time, only the newest are sent. Before
    them, an event `events_skipped` has the members `after` and `before`: `/api/v1/events` with
    these parameters lists the events in between.
    """
    wanted: dict[str, object] = {"client_id": client_id, "port": port, "names": event}
    texts = _texts(observer_of(request), wanted, last_event_id)
    return EventStream(texts, request.app.state.event_streams)


async def _texts(
    observer: Observer, wanted: dict[str, object], after: int | None
) -> AsyncIterator[str]:
    """Yield events as text in the format of server-sent events.

    Only events that match the filters in `wanted` and have sequence numbers above `after` are
    yielded. If `after` is None, or above the newest event because the gateway has a new log, only
    new events are yielded. The stream ends after EVENT_STREAM_SECONDS.
    """
    newest: int | None = None
    ends_at = time.monotonic() + limits.EVENT_STREAM_SECONDS
    yield "retry: 1000\n\n"
    while time.monotonic() < ends_at:
        try:
            if newest is None:
                latest = (await observer.events({"limit": 1})).events
                newest = latest[0].sequence if latest else 0
                after = newest if after is None else min(after, newest)
            page = await observer.events(
                {**wanted, "after": after, "limit": limits.EVENTS_PER_REQUEST_MAX}
            )
        except BrokerProblem as problem:
            yield f": {' '.join(problem.reason.split())}\n\n"
        except Refused as refusal:
            yield f": {' '.join(refusal.message.split())}\n\n"
            return
        else:
            for text in _texts_of(page, after or 0):
                yield text
            after = page.events[0].sequence if page.events else after
        await asyncio.sleep(limits.EVENT_STREAM_STEP_SECONDS)


def _texts_of(page: EventPage, after: int) -> Iterator[str]:
    """Yield a page of events as server-sent events, the oldest first.

    If the page does not contain all events since `after`, an event `events_skipped` comes first. It
    has no `id`, so that a client that reconnects after it gets the note again.
    """
    if page.next is not None:
        skipped = json.dumps({"after": after, "before": page.next})
        yield f"event: {SKIPPED}\ndata: {skipped}\n\n"
    for each in reversed(page.events):
        yield f"id: {each.sequence}\nevent: {each.event}\ndata: {each.model_dump_json()}\n\n"
    if not page.events:
        yield ":\n\n"  # Only sending reveals that the client has disconnected.
