"""Alarms in the REST interface, at a real broker: listed, filtered, paged and acknowledged."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.api.acting import Site, site
from tests.api.conftest import DEADLINE_SECONDS


@asynccontextmanager
async def site_that_dropped(tmp_path: Path) -> AsyncIterator[Site]:
    """Run a site whose broker has dropped 3 messages for a client that is away."""
    async with site(tmp_path) as at:
        statistics = at.broker.running.event_loop.broker.statistics
        for _ in range(3):
            statistics.recently_dropped.add("queue_full", "archive", None, "t")
        yield at


async def alarms_of(client: httpx.AsyncClient, identifier: str) -> list[dict[str, Any]]:
    """Wait for an alarm with this identifier, and return all alarms with it."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            answer = await client.get("/api/v1/alarms")
            assert answer.status_code == 200, answer.text
            found = [each for each in answer.json()["alarms"] if each["id"] == identifier]
            if found:
                return found
            await asyncio.sleep(0.1)


async def test_a_loss_is_listed_until_an_operator_acknowledges_it(tmp_path: Path) -> None:
    async with site_that_dropped(tmp_path) as at, at.program("operator") as program:
        [alarm] = await alarms_of(program, "messages_dropped")
        assert alarm["level"] == "warning"
        assert alarm["state"] == "active"
        assert alarm["sentence"].startswith("3 messages for client 'archive' were dropped")
        assert alarm["fix"].startswith("Raise [mqtt] max_mqueue_len")
        given = {"id": alarm["id"], "subject": alarm["subject"]}
        done = await program.post("/api/v1/alarms/acknowledge", json=given)
        assert done.status_code == 200, done.text
        assert done.json()["acknowledged_by"] == "program-operator"
        assert at.counted == {"acknowledge_alarm": 1}
        unknown = await program.post("/api/v1/alarms/acknowledge", json=given | {"subject": "x"})
        assert unknown.status_code == 404


async def test_a_viewer_may_list_and_not_acknowledge(tmp_path: Path) -> None:
    async with site_that_dropped(tmp_path) as at, at.program("viewer") as program:
        [alarm] = await alarms_of(program, "messages_dropped")
        given = {"id": alarm["id"], "subject": alarm["subject"]}
        refused = await program.post("/api/v1/alarms/acknowledge", json=given)
        assert refused.status_code == 403


async def test_alarms_are_filtered_and_paged(tmp_path: Path) -> None:
    async with site_that_dropped(tmp_path) as at, at.program("viewer") as program:
        await alarms_of(program, "messages_dropped")
        everything = (await program.get("/api/v1/alarms")).json()
        assert everything["next"] is None
        pages, after = [], None
        while True:
            query = {"limit": 1} if after is None else {"limit": 1, "after": after}
            page = (await program.get("/api/v1/alarms", params=query)).json()
            pages += page["alarms"]
            after = page["next"]
            if after is None:
                break
        assert [each["id"] for each in pages] == [each["id"] for each in everything["alarms"]]
        critical = (await program.get("/api/v1/alarms", params={"level": "critical"})).json()
        assert critical["alarms"] == []
        cleared = (await program.get("/api/v1/alarms", params={"state": "cleared"})).json()
        assert (cleared["alarms"], cleared["next"]) == ([], None)
        for mistyped in ({"level": "bad"}, {"states": "cleared"}):
            refused = await program.get("/api/v1/alarms", params=mistyped)
            assert refused.status_code == 422
