"""The command `sessions`: filters, sort orders, pages and limits."""

import json
from typing import Any

import pytest

from gateway.broker.server.control import session_list
from tests.broker.server.broker import Broker, log_in
from tests.broker.server.conftest import Start
from tests.broker.server.control.test_requests import code, result
from tests.peers.mqtt_bytes import Kind, packet, publish


async def listed(broker: Broker, **request: Any) -> list[str]:
    answer = await result(broker, "sessions", **request)
    return [each["client_id"] for each in answer["sessions"]]


async def paged(broker: Broker, limit: int, **request: Any) -> list[str]:
    """Return all client identifiers, fetched page by page."""
    found: list[str] = []
    after: str | None = ""
    while after is not None:
        page = await result(broker, "sessions", limit=limit, after=after, **request)
        found += [each["client_id"] for each in page["sessions"]]
        after = page["next"]
    return found


async def test_sessions_are_filtered_and_sorted_page_by_page(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_list, "SLICE_SESSIONS", 2)
    broker = await start({})
    clients = {name: await log_in(broker, name) for name in ("b", "a", "d", "c x")}
    for count, name in enumerate(("c x", "a", "d"), start=1):
        for number in range(1, count + 1):
            clients[name].send(publish("t", b"x", qos=1, packet_id=number))
            await clients[name].packet()
    for limit in (1, 2, 3, 4, 5):
        assert await paged(broker, limit) == ["a", "b", "c x", "d"]
        assert await paged(broker, limit, sort="received") == ["d", "a", "c x", "b"]
    assert await listed(broker, search="X") == ["c x"]
    assert await listed(broker, state="drops") == []
    assert await listed(broker, user="anna") == []
    clients["a"].send(packet(Kind.DISCONNECT, 0, b""))
    await clients["a"].rest()
    await broker.eventually(lambda: len(broker.addresses()) == 3)
    assert await listed(broker, state="away") == ["a"]
    assert await listed(broker, state="connected", limit=2) == ["b", "c x"]
    assert sorted(await paged(broker, 1, sort="last_seen")) == ["a", "b", "c x", "d"]
    refused: tuple[dict[str, Any], ...] = (
        {"limit": 0},
        {"after": 7},
        {"sort": "x"},
        {"sort": []},
        {"state": "x"},
        {"after": "b", "sort": "queued"},
    )
    for wrong in refused:
        assert await code(broker, "sessions", **wrong) == "bad_request", wrong


async def test_an_answer_that_would_be_too_long_ends_earlier(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    broker = await start({})
    for name in ("a", "b", "c"):
        await log_in(broker, name)
    one = len(json.dumps((await result(broker, "sessions", limit=1))["sessions"][0]))
    monkeypatch.setattr(session_list, "SESSIONS_BYTES_MAX", 2 * one + one // 2)
    found = await result(broker, "sessions")
    assert [each["client_id"] for each in found["sessions"]] == ["a", "b"]
    assert found["next"] == "b"
