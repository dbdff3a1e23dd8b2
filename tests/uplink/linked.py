"""A link to a broker that answers as the test requires, on a committer with a real file."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.broker.wire.packets import Disconnect, Packet, Publish, Suback, Subscribe
from gateway.uplink import link as link_module
from gateway.uplink.committer import Committer
from gateway.uplink.link import Link
from gateway.uplink.recovery import open_uplink_store
from gateway.uplink.routes import Route, Side
from gateway.uplink.settings import Endpoint, UplinkSettings
from tests.bridge.silent_broker import SilentBroker
from tests.uplink.bench import DEADLINE_SECONDS

GATEWAY = "gw"
ROUTES = (
    Route(filter="out/#", remote_prefix="site/"),
    Route(filter="in/#", direction="in", remote_prefix="site/"),
)


class Linked:
    """The link to the upstream broker, with its settings and its committer."""

    def __init__(self, directory: Path, broker: SilentBroker, **endpoint: object) -> None:
        given: dict[str, object] = {
            "host": "127.0.0.1",
            "port": broker.port,
            "client_id": "up",
            **endpoint,
        }
        remote = Endpoint(**given)  # type: ignore[arg-type]
        self.broker = broker
        self.settings = UplinkSettings(
            data_dir=directory,
            gateway_id=GATEWAY,
            local=remote,
            remote=remote,
            routes=ROUTES,
            control_socket=directory / "control.sock",
            packet_bytes_max=10_000,
        )
        store = open_uplink_store(directory / "uplink.db")
        self.committer = Committer(store, queue_bytes_max=1 << 20)
        self.link = Link(Side.REMOTE, remote, self.settings, self.committer)

    async def packet(self) -> Packet:
        """Return the next packet except DISCONNECT."""
        while isinstance(packet := await self.broker.next_packet(), Disconnect):
            pass
        return packet

    async def until_connected(self) -> Subscribe:
        """Answer CONNECT and SUBSCRIBE of a new session, and return the SUBSCRIBE."""
        await self.broker.next_connect()
        subscribe = await self.packet()
        assert isinstance(subscribe, Subscribe), subscribe
        self.broker.send(Suback(subscribe.packet_id, [2]))
        await self.is_connected()
        return subscribe

    async def is_connected(self, *, connected: bool = True) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while self.link.connected is not connected:  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0.005)

    async def count_becomes(self, name: str, count: int) -> None:
        counters = self.committer.lanes[Side.LOCAL].counters
        async with asyncio.timeout(DEADLINE_SECONDS):
            while counters[name] != count:  # noqa: ASYNC110 - it has no event
                await asyncio.sleep(0.005)


@contextlib.asynccontextmanager
async def linked(
    directory: Path, broker: SilentBroker, monkeypatch: pytest.MonkeyPatch, **endpoint: object
) -> AsyncIterator[Linked]:
    """Run a link. At the end it stops as in a crash, except that it sends DISCONNECT."""
    monkeypatch.setattr(link_module, "BACKOFF_SECONDS_MIN", 0.01)
    running = Linked(directory, broker, **endpoint)
    tasks = [
        asyncio.create_task(running.committer.run()),
        asyncio.create_task(running.link.run()),
    ]
    try:
        yield running
    finally:
        for task in reversed(tasks):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        await running.committer.close()


def coming(packet_id: int, payload: str = "x", qos: int = 2, topic: str = "site/in/a") -> Publish:
    return Publish(topic, payload.encode(), qos, False, False, packet_id)
