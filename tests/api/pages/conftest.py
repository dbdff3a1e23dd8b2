"""Fixture with a client of a page that has an hour of history."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.api.conftest import DEADLINE_SECONDS
from tests.api.contract_broker import ContractBroker
from tests.api.recording import recorded_page

POINTS_LOADED = 100
"""More points than the page itself records while a test runs; an hour has 720."""


@pytest.fixture
async def recording(
    broker: ContractBroker, status_socket: Path, tmp_path: Path
) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        recorded_page(status_socket, tmp_path / "history") as url,
        httpx.AsyncClient(base_url=url, timeout=DEADLINE_SECONDS) as client,
    ):
        # The page loads the files after its start. Until then, there is at most the first sample.
        while len(await _points_of(client, "gateway/messages_in")) < POINTS_LOADED:
            pass
        yield client


async def _points_of(client: httpx.AsyncClient, name: str) -> list[object]:
    found = (await client.get("/api/v1/history", params={"series": name})).json()
    return [point for series in found.get("series", ()) for point in series["points"]]
