"""Events in the REST interface, at a real broker."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import ClientDisconnect

from api import limits
from api.main import create_app
from api.rest.events import SKIPPED
from api.settings import ApiSettings
from tests.api.conftest import DEADLINE_SECONDS
from tests.api.contract_broker import ContractBroker
from tests.api.exchanges import connected, exactly_once, site_with_exchanges
from tests.peers.control_server import refusal


async def test_events_are_listed_filtered_and_paged(tmp_path: Path) -> None:
    async with site_with_exchanges(tmp_path, 3) as at, at.program("viewer") as program:
        every = (await program.get("/api/v1/events?client_id=press")).json()["events"]
        assert [each["event"] for each in every[::-1]] == [
            "session_opened",
            *["message_held", "message_released"] * 3,
        ]
        held = (await program.get("/api/v1/events?event=message_held&limit=2")).json()
        assert [each["packet_id"] for each in held["events"]] == [3, 2]
        rest = await program.get(f"/api/v1/events?event=message_held&before={held['next']}")
        assert [each["packet_id"] for each in rest.json()["events"]] == [1]
        newest = every[0]["sequence"]
        assert (await program.get(f"/api/v1/events?after={newest}")).json()["events"] == []


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=1001", "before=-1", "after=x", "clientid=press", "event=" + 65 * "x"],
)
async def test_what_is_no_question_is_refused(tmp_path: Path, query: str) -> None:
    async with site_with_exchanges(tmp_path, 0) as at, at.program("viewer") as program:
        for path in ("/api/v1/events", "/api/v1/events/stream"):
            if query.startswith(("limit", "before", "after")) and "stream" in path:
                continue
            answer = await program.get(f"{path}?{query}")
            assert answer.status_code == 422, answer.text


async def test_a_stranger_gets_nothing(tmp_path: Path) -> None:
    async with site_with_exchanges(tmp_path, 0) as at, at.program("viewer") as program:
        del program.headers["Authorization"]
        assert (await program.get("/api/v1/events")).status_code == 401
        assert (await program.get("/api/v1/events/stream")).status_code == 401


async def streamed(program: Any, headers: dict[str, str], count: int) -> list[dict[str, Any]]:
    """Return the first `count` events of a stream."""
    found: list[dict[str, Any]] = []
    name = ""
    async with (
        asyncio.timeout(DEADLINE_SECONDS),
        program.stream("GET", "/api/v1/events/stream?client_id=press", headers=headers) as answer,
    ):
        assert answer.headers["content-type"].startswith("text/event-stream")
        async for line in answer.aiter_lines():
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            # A client that publishes without a pause can be faster than the stream.
            elif line.startswith("data: ") and name != SKIPPED:
                found.append(json.loads(line.removeprefix("data: ")))
                if len(found) == count:
                    return found
    raise AssertionError(found)


async def test_a_stream_sends_what_happens_and_continues_where_it_ended(tmp_path: Path) -> None:
    async with site_with_exchanges(tmp_path, 1) as at, at.program("viewer") as program:
        every = (await program.get("/api/v1/events?client_id=press")).json()["events"][::-1]
        after_first = {"Last-Event-ID": str(every[0]["sequence"])}
        assert await streamed(program, after_first, 2) == every[1:]
        reading = asyncio.create_task(streamed(program, {}, 2))
        other, press = await connected(at, "other"), await connected(at, "press")
        while not reading.done():
            await exactly_once(other, 1)
            await exactly_once(press, 9)
        assert {each["client_id"] for each in reading.result()} == {"press"}


async def test_a_stream_continues_if_the_gateway_has_a_new_log(tmp_path: Path) -> None:
    of_the_former_log = {"Last-Event-ID": "1000000"}
    async with site_with_exchanges(tmp_path, 1) as at, at.program("viewer") as program:
        reading = asyncio.create_task(streamed(program, of_the_former_log, 2))
        press = await connected(at, "press")
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not reading.done():
                await exactly_once(press, 9)
        assert len(reading.result()) == 2


async def test_a_stream_reports_the_events_that_are_too_many_for_one_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "EVENTS_PER_REQUEST_MAX", 2)
    monkeypatch.setattr(limits, "EVENT_STREAM_SECONDS", 0.05)
    async with site_with_exchanges(tmp_path, 3) as at, at.program("viewer") as program:
        every = (await program.get("/api/v1/events?client_id=press")).json()["events"][::-1]
        first, newest = every[0]["sequence"], every[-2:]
        headers = {"Last-Event-ID": str(first)}
        path = "/api/v1/events/stream?client_id=press"
        notes = (await program.get(path, headers=headers)).text.split("\n\n")
        skipped = notes[1].removeprefix("event: events_skipped\ndata: ")
        assert [int(note.split("\n")[0].removeprefix("id: ")) for note in notes[2:4]] == [
            each["sequence"] for each in newest
        ]
        query = "&".join(f"{name}={value}" for name, value in json.loads(skipped).items())
        rest = (await program.get(f"/api/v1/events?client_id=press&limit=100&{query}")).json()
        assert rest["events"][::-1] == every[1:-2]
        # A client that lost the connection after the note gets it again.
        assert "id:" not in notes[1]


async def test_head_of_a_stream_is_answered_without_waiting_and_keeps_no_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "EVENT_STREAMS_MAX", 1)
    async with site_with_exchanges(tmp_path, 1) as at, at.program("viewer") as program:
        for _ in range(2):
            async with asyncio.timeout(DEADLINE_SECONDS):
                answer = await program.head("/api/v1/events/stream")
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith("text/event-stream")


async def test_the_number_of_streams_is_limited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "EVENT_STREAMS_MAX", 1)
    monkeypatch.setattr(limits, "EVENT_STREAM_STEP_SECONDS", 0.01)
    async with site_with_exchanges(tmp_path, 1) as at, at.program("viewer") as program:
        async with program.stream("GET", "/api/v1/events/stream") as answer:
            assert answer.status_code == 200
            assert (await program.get("/api/v1/events/stream")).status_code == 503
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not await streams_again(program):  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0.01)


async def test_a_visitor_who_goes_before_the_first_byte_keeps_no_place(
    broker: ContractBroker, status_socket: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "EVENT_STREAMS_MAX", 1)
    monkeypatch.setattr(limits, "EVENT_STREAM_SECONDS", 0.0)
    app = create_app(ApiSettings(status_socket=status_socket))
    async with app.router.lifespan_context(app):
        for _ in range(2):
            with pytest.raises(ClientDisconnect):
                await app(_request_of_a_stream(), _nothing_more, _gone)
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(base_url="http://localhost", transport=transport) as client:
            assert (await client.get("/api/v1/events/stream")).status_code == 200


def _request_of_a_stream() -> dict[str, Any]:
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.4"},
        "http_version": "1.1",
        "method": "GET",
        "scheme": "http",
        "path": "/api/v1/events/stream",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
        "client": ("127.0.0.1", 40_000),
        "server": ("127.0.0.1", 8080),
    }


async def _nothing_more() -> dict[str, Any]:
    await asyncio.Event().wait()
    raise AssertionError


async def _gone(_: Any) -> None:
    raise OSError("the visitor is gone")


async def streams_again(program: Any) -> bool:
    """Return True if another stream can be opened."""
    async with program.stream("GET", "/api/v1/events/stream") as answer:
        status_code: int = answer.status_code
        return status_code == 200


async def test_a_stream_ends_by_itself_and_reports_that_the_broker_is_silent(
    broker: ContractBroker, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "EVENT_STREAM_SECONDS", 0.05)
    monkeypatch.setattr(limits, "EVENT_STREAM_STEP_SECONDS", 0.02)
    text = (await client.get("/api/v1/events/stream", headers={"Last-Event-ID": "1"})).text
    assert "event: message_held" in text
    broker.instead = lambda _: refusal("bad_request", "not\nso")
    text = (await client.get("/api/v1/events/stream", headers={"Last-Event-ID": "3"})).text
    assert text.endswith("\n\n: not so\n\n")
    broker.silent = True
    text = (await client.get("/api/v1/events/stream", headers={"Last-Event-ID": "2"})).text
    assert ": The broker did not answer" in text
