"""Fixture with a client of a page that has an hour of history."""

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.api.conftest import DEADLINE_SECONDS
from tests.api.contract_broker import ContractBroker
from tests.api.recording import recorded_page


@pytest.fixture
async def recording(
    broker: ContractBroker, status_socket: Path, tmp_path: Path
) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        recorded_page(status_socket, tmp_path / "history") as url,
        httpx.AsyncClient(base_url=url, timeout=DEADLINE_SECONDS) as client,
    ):
        while not (await client.get("/api/v1/history/series")).json()["series"]:
            pass  # The page loads the files after its start.
        yield client
