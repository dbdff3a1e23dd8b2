"""The API as one process: its announcement, its OpenAPI description, and its shutdown."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.history.recorder import Recorder
from api.main import serve
from api.serving.listening import listen
from api.settings import ApiSettings
from tests.api.conftest import DEADLINE_SECONDS, serving
from tests.api.contract_broker import ContractBroker
from tests.api.logging_in import ROLES


async def test_stopping_frees_the_port_and_leaves_no_task(status_socket: Path) -> None:
    before = asyncio.all_tasks()
    async with serving(status_socket) as url, httpx.AsyncClient() as client:
        await client.get(url)
        port = httpx.URL(url).port
        assert port is not None
    assert asyncio.all_tasks() == before
    listen(ApiSettings(port=port, status_socket=status_socket)).close()


async def test_every_schema_that_is_referred_to_exists(client: httpx.AsyncClient) -> None:
    response = await client.get("/openapi.json")
    schemas = set(response.json()["components"]["schemas"])
    referred = {part.split('"')[0] for part in response.text.split("#/components/schemas/")[1:]}
    assert referred == schemas


@pytest.mark.parametrize(("bind", "warnings"), [("127.0.0.1", 0), ("0.0.0.0", 1)])  # noqa: S104
async def test_a_page_that_the_network_may_read_is_announced_with_a_warning(
    status_socket: Path, caplog: pytest.LogCaptureFixture, bind: str, warnings: int
) -> None:
    caplog.set_level(logging.INFO, "api.main")
    async with serving(status_socket, bind=bind) as url:
        assert f"status page at {url}" in caplog.messages
    found = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert len(found) == warnings
    assert all(f"the page at {url} has no login" in each.message for each in found)


@pytest.mark.parametrize(
    ("settings", "warning"),
    [
        ({"bind_unused": "0.0.0.0"}, "without users the page stays on loopback"),  # noqa: S104
        ({"bind": "0.0.0.0", "roles": ROLES}, "is not encrypted"),  # noqa: S104
    ],
)
async def test_what_an_operator_may_not_expect_is_a_warning(
    status_socket: Path,
    caplog: pytest.LogCaptureFixture,
    settings: dict[str, Any],
    warning: str,
) -> None:
    async with serving(status_socket, **settings):
        (found,) = [each for each in caplog.records if each.levelno == logging.WARNING]
    assert warning in found.message


async def test_each_second_in_which_the_event_loop_runs_is_reported(
    status_socket: Path, broker: ContractBroker
) -> None:
    stop = asyncio.Event()
    seconds = 0

    def alive() -> None:
        nonlocal seconds
        seconds += 1
        if seconds == 2:
            stop.set()

    settings = ApiSettings(port=0, status_socket=status_socket)
    async with asyncio.timeout(DEADLINE_SECONDS):
        await serve(settings, stop, alive=alive)
    assert seconds == 2


async def test_a_fault_in_a_background_task_ends_the_process_and_not_only_its_part(
    status_socket: Path,
    broker: ContractBroker,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def fail(_: Recorder) -> None:
        await asyncio.sleep(0.01)
        raise ZeroDivisionError

    monkeypatch.setattr(Recorder, "run", fail)
    settings = ApiSettings(port=0, status_socket=status_socket, history_dir=tmp_path / "history")
    async with asyncio.timeout(DEADLINE_SECONDS):
        with pytest.raises(ZeroDivisionError):
            await serve(settings, asyncio.Event())
