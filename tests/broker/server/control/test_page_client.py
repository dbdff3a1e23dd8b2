"""The client that the page has inside the broker: it ends when the broker stops."""

import asyncio

from gateway.broker.server.control.page_client import PageClient
from tests.broker.server.conftest import Start


async def test_a_broker_that_stops_ends_it(start: Start) -> None:
    event_loop = (await start({})).running.event_loop
    client = PageClient(event_loop, listener="@page", address="page", username=None)
    event_loop.broker.set_disk_full(True)
    waiting = asyncio.create_task(client._answer())
    await asyncio.sleep(0)
    client.abort()
    assert await waiting is None
    client.leave()
    assert client not in event_loop.channels.values()
