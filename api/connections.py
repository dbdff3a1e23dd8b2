"""Uvicorn, told to end: its signal handlers left out, its connections bounded in time and memory.

Promise: a connection that sends its request byte by byte, or never ends its headers, or does not
read its answer, is gone after ``CONNECTION_SECONDS_MAX`` and never holds more than
``REQUEST_HEAD_BYTES_MAX``. Uvicorn alone waits and buffers without an end.
"""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from api import limits


class Server(uvicorn.Server):
    """Stopping is the caller's business: it sets ``stop``."""

    def __init__(
        self, config: uvicorn.Config, *, stop: asyncio.Event, on_started: Callable[[], None]
    ) -> None:
        super().__init__(config)
        self._stop = stop
        self._on_started = on_started

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[Any] | None = None) -> None:
        await super().startup(sockets)
        self._on_started()

    async def main_loop(self) -> None:
        # Uvicorn looks for a reason to stop ten times a second; here it is told, and only its Date
        # header needs a tick (every tenth of uvicorn's, so number 0).
        while not self._stop.is_set() and not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), timeout=1.0)


class BoundedConnection(HttpToolsProtocol):
    """One connection of a visitor."""

    _ending: asyncio.TimerHandle
    _head_bytes = 0
    _in_head = True

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._ending = self.loop.call_later(limits.CONNECTION_SECONDS_MAX, self._say_farewell)

    def connection_lost(self, exc: Exception | None) -> None:
        self._ending.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._in_head:
            self._head_bytes += len(data)
            if self._head_bytes > limits.REQUEST_HEAD_BYTES_MAX:
                self.send_400_response("The request's line and headers are too long.")
                return
        super().data_received(data)

    def on_message_begin(self) -> None:
        self._in_head = True
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._head_bytes = 0
        super().on_headers_complete()

    def _say_farewell(self) -> None:
        self.shutdown()
        self._ending = self.loop.call_later(limits.FAREWELL_SECONDS, self.transport.abort)
