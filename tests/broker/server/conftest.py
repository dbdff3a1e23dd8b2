"""Brokers in this process on real sockets; each is stopped at the end of its test."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest_asyncio

from tests.broker.server.broker import Broker, running

try:
    import uvloop
except ImportError:
    uvloop = None  # type: ignore[assignment]


def pytest_asyncio_loop_factories() -> dict[str, Callable[[], asyncio.AbstractEventLoop]]:
    """Return both event loops that the broker supports: their transports differ."""
    factories = {"asyncio": asyncio.new_event_loop}
    if uvloop is not None:
        factories["uvloop"] = uvloop.new_event_loop
    return factories


Start = Callable[..., Awaitable[Broker]]


@pytest_asyncio.fixture
async def start(tmp_path: Path) -> AsyncIterator[Start]:
    """Yield a function that starts a broker with `[[listeners]]` tables and keys of `[mqtt]`."""
    numbers = itertools.count()
    async with AsyncExitStack() as exits:

        async def begin(
            *listeners: dict[str, Any], users: Path | None = None, **mqtt: object
        ) -> Broker:
            data_dir = tmp_path / f"data{next(numbers)}"
            return await exits.enter_async_context(
                asynccontextmanager(running)(data_dir, list(listeners), mqtt, users)
            )

        yield begin
