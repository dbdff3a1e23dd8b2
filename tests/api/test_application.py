"""The shutdown of the application. Its middleware is tested together with the routes."""

import asyncio
from pathlib import Path

from api.main import create_app
from api.settings import ApiSettings


async def test_a_task_that_ends_stops_the_server_and_one_that_is_cancelled_does_not() -> None:
    stop = asyncio.Event()
    app = create_app(ApiSettings(status_socket=Path("x")), None, stop)
    cancelled = asyncio.create_task(asyncio.sleep(60))
    await asyncio.sleep(0)
    cancelled.cancel()
    await asyncio.wait([cancelled])
    app.note_end(cancelled)
    assert not stop.is_set()
    ended = asyncio.create_task(asyncio.sleep(0))
    await ended
    app.note_end(ended)
    assert stop.is_set()
    assert isinstance(app.fault, RuntimeError)
