"""The broker fixture for the tests of authentication."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from gateway.broker.access.passwords.file import set_password
from gateway.broker.server.main import RunningBroker
from gateway.configuration import Configuration, load
from tests.broker.server.event_loop.authenticating import ITERATIONS, Broker
from tests.peers.connection import DEADLINE_SECONDS


@pytest.fixture
def passwords(tmp_path: Path) -> Path:
    path = tmp_path / "passwords"
    for username in ("alice", "bob"):
        set_password(path, username, b"secret", scram_iterations=ITERATIONS)
    return path


@pytest_asyncio.fixture
async def broker(
    tmp_path: Path, passwords: Path, request: pytest.FixtureRequest
) -> AsyncIterator[Broker]:
    settings = {
        "gateway.data_dir": tmp_path / "data",
        "mqtt.connect_timeout": f"{DEADLINE_SECONDS:g}s",
        "access.password_file": passwords,
        "listeners": [{"port": 0, "anonymous": False}],
        **getattr(request, "param", {}),
    }

    def configuration() -> Configuration:
        return load(None, {}, settings, None)

    stop = asyncio.Event()
    running = await RunningBroker.start(configuration(), configuration)
    ticking = asyncio.create_task(running.until(stop))
    try:
        yield Broker(running, passwords)
    finally:
        stop.set()
        await ticking
        await running.stop()
        asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)
    assert running.event_loop.committer.failure is None
