"""Fixtures that run the API's server on a free port, in front of a contract broker."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import uvicorn.server

from api.main import serve
from api.settings import ApiSettings
from tests.api.contract_broker import ContractBroker

DEADLINE_SECONDS = 60.0
STOPS_PER_PAUSE = 20
"""Uvicorn pauses for a tenth of a second when it stops, hundreds of times in these tests."""


@pytest.fixture(autouse=True, scope="session")
def quick_stops() -> Iterator[None]:
    """Shorten the intervals at which a stopping uvicorn looks for open connections."""

    def sleep(seconds: float) -> Coroutine[Any, Any, None]:
        return asyncio.sleep(seconds / STOPS_PER_PAUSE)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            uvicorn.server, "asyncio", SimpleNamespace(**(vars(asyncio) | {"sleep": sleep}))
        )
        yield


@asynccontextmanager
async def serving(status_socket: Path, **settings: Any) -> AsyncIterator[str]:
    """Run the API and yield its URL. `settings` are further fields of `ApiSettings`."""
    stop = asyncio.Event()
    url: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    all_settings = ApiSettings(port=0, status_socket=status_socket, **settings)
    task = asyncio.create_task(serve(all_settings, stop, url.set_result))
    try:
        first: set[asyncio.Future[Any]] = {task, url}
        await asyncio.wait(first, timeout=DEADLINE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            task.result()
        yield url.result()
    finally:
        stop.set()
        async with asyncio.timeout(DEADLINE_SECONDS):
            await task


@pytest.fixture
def status_socket(tmp_path: Path) -> Path:
    return tmp_path / "status.sock"


@pytest.fixture
async def broker(status_socket: Path) -> AsyncIterator[ContractBroker]:
    async with ContractBroker(status_socket) as broker:
        yield broker


@pytest.fixture
async def url(status_socket: Path, tmp_path: Path) -> AsyncIterator[str]:
    """Yield the URL of an API.

    The test decides whether its broker and its card (`CardFiles`) exist.
    """
    files = {"card_file": tmp_path / "card.json", "block_devices": tmp_path / "block"}
    async with serving(status_socket, **files) as url:
        yield url


@pytest.fixture
async def client(url: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=url, timeout=DEADLINE_SECONDS) as client:
        yield client
