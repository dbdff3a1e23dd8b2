"""The broker as `gateway.broker.server.main` runs it, in the test's own event loop."""

import asyncio
import itertools
import ssl
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from gateway.broker.server.listeners.stream import MqttProtocol
from gateway.broker.server.main import RunningBroker
from gateway.broker.server.status.totals import Walk
from gateway.configuration import load
from tests.peers.connection import DEADLINE_SECONDS, Connection
from tests.peers.packet_client import PacketClient
from tests.peers.websocket_client import WebSocketClient

TURNS = 200
"""Turns of the event loop in which a condition comes true that needs no timer."""
POLL_SECONDS = 0.001
"""Time between two checks of a condition that needs a timer: other tests have the processor."""


def warnings_in(status: dict[str, Any]) -> list[str]:
    """Return the warnings in a status, each with its fix."""
    return [f"{each['sentence']} {each['fix']}".rstrip() for each in status["warnings"]]


class Broker:
    """A running broker, and its clients."""

    def __init__(self, running: RunningBroker) -> None:
        self.running = running
        self._clients: list[Connection] = []

    @property
    def listeners(self) -> list[dict[str, Any]]:
        """The listeners as the status shows them."""
        return self.running.listening.shown

    def status(self) -> dict[str, Any]:
        """Return the broker's current status."""
        walk = Walk(self.running.event_loop.broker.state, 0.0)
        while not walk.advance():
            pass
        return self.running.status.of(walk.totals)

    def warnings(self) -> list[str]:
        """Return the current warnings, each with its fix."""
        return warnings_in(self.status())

    @property
    def errors(self) -> dict[str, int]:
        """The counters of errors, by name."""
        return self.running.event_loop.broker.statistics.errors

    def addresses(self) -> list[str]:
        """Return the addresses of the connected clients."""
        sessions = self.running.event_loop.broker.state.sessions.values()
        return [each.connection.address for each in sessions if each.connection is not None]

    async def open(self, index: int = 0, tls: ssl.SSLContext | None = None) -> WebSocketClient:
        """Connect to the listener at `index` of `listeners`, with TLS if `tls` is given."""
        client = WebSocketClient(*await self._streams(index, tls))
        self._clients.append(client)
        return client

    async def open_packets(self, version: int = 5) -> PacketClient:
        """Connect to the first listener; the returned client of packets has sent nothing yet."""
        client = PacketClient(*await self._streams(0), version)
        self._clients.append(client)
        return client

    async def _streams(
        self, index: int, tls: ssl.SSLContext | None = None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        shown = self.listeners[index]
        if shown["protocol"] == "unix":
            return await asyncio.open_unix_connection(shown["path"])
        name = None if tls is None else "gateway"
        return await asyncio.open_connection(
            shown["bind"], shown["port"], ssl=tls, server_hostname=name
        )

    async def eventually(self, question: Callable[[], bool]) -> None:
        """Run the broker's loop until `question` returns True, or fail at the deadline."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            for turn in itertools.count():  # the core has no event to wait for
                if question():
                    return
                await asyncio.sleep(0 if turn < TURNS else POLL_SECONDS)

    def cut(self) -> None:
        """Cut every connection that the test has opened."""
        for client in self._clients:
            client.cut()


async def running(
    data_dir: Path,
    listeners: list[dict[str, Any]],
    mqtt: dict[str, object],
    users: Path | None = None,
    hook: str | None = None,
    *,
    queues: list[dict[str, str]] | None = None,
) -> AsyncIterator[Broker]:
    """Start a broker and yield it; stop it at the end and assert that nothing failed."""
    all_listeners = [{"port": 0} | each if "path" not in each else each for each in listeners]
    # On a machine that is busy with other tests, checks of passwords are slow.
    mqtt = {"connect_timeout": f"{DEADLINE_SECONDS:g}s"} | mqtt
    overrides: dict[str, Any] = {f"mqtt.{key}": value for key, value in mqtt.items()}
    overrides |= {
        "gateway.data_dir": data_dir,
        "listeners": all_listeners,
        "access.password_file": users,
    }
    overrides |= {"hooks.module": hook, "queues": queues}
    configuration = load(None, {}, overrides, None)
    stop = asyncio.Event()
    stumbles: list[dict[str, Any]] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda _, context: stumbles.append(context))
    broker = Broker(await RunningBroker.start(configuration, None))
    ticking = asyncio.create_task(broker.running.until(stop))
    try:
        yield broker
        assert broker.running.event_loop.committer.failure is None
        assert not stumbles, stumbles
    finally:
        broker.cut()
        stop.set()
        await ticking
        await broker.running.stop()


async def log_in(broker: Broker, client_id: str, *, clean: bool = False) -> WebSocketClient:
    """Connect and return the client, which the broker has accepted."""
    client = await broker.open()
    assert await client.log_in(client_id, clean=clean) == 0
    return client


def protocols_of(broker: Broker) -> dict[str, MqttProtocol]:
    """Return the protocol objects of all connected clients, by client identifier."""
    named: dict[str, MqttProtocol] = {}
    for connection, channel in broker.running.event_loop.channels.items():
        if connection.session is not None:
            assert isinstance(channel, MqttProtocol)
            named[connection.session.client_id] = channel
    return named
