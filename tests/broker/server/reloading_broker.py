"""A broker on real sockets whose configuration a test changes."""

import asyncio
import signal
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from firmware_bridge.protocols.table import PROTOCOLS

from gateway.broker.server.main import RunningBroker
from gateway.configuration import Configuration, load
from tests.peers.byte_client import ByteClient
from tests.peers.connection import DEADLINE_SECONDS
from tests.peers.mqtt_bytes import connect


class ReloadingBroker:
    """A broker, the configuration for its next reload, and its clients."""

    def __init__(self, directory: Path, configuration: dict[str, Any]) -> None:
        # On a machine that is busy with other tests, a check of a password can be slow.
        patient = {"mqtt.connect_timeout": f"{DEADLINE_SECONDS:g}s"}
        self.written = {"gateway.data_dir": directory / "data"} | patient | configuration
        """Configuration values by `section.key`, as in the file."""
        self.running: RunningBroker
        self._clients: list[ByteClient] = []

    def read(self) -> Configuration:
        """Return the configuration as the broker would read it from the file."""
        return load(None, {}, self.written, PROTOCOLS)

    def reload(self, **changes: object) -> dict[str, Any]:
        """Change keys, written with `__` for the dot, and reload the configuration."""
        self.written |= {name.replace("__", "."): value for name, value in changes.items()}
        return self.running.reloading.reload()

    @property
    def shown(self) -> list[dict[str, Any]]:
        """The listeners as the status shows them."""
        return self.running.listening.shown

    @property
    def errors(self) -> dict[str, int]:
        """The counters of errors, by name."""
        return self.running.event_loop.broker.statistics.errors

    async def client(
        self,
        port: int,
        client_id: str,
        *,
        user: str | None = None,
        tls: ssl.SSLContext | None = None,
        reason_code: int = 0,
    ) -> ByteClient:
        """Connect with MQTT 5.0 to this port; return the client."""
        name = None if tls is None else "localhost"
        streams = await asyncio.open_connection("127.0.0.1", port, ssl=tls, server_hostname=name)
        client = ByteClient(*streams)
        self._clients.append(client)
        password = None if user is None else b"secret"
        client.send(connect(client_id, username=user, password=password, level=5))
        assert (await client.packet())[3] == reason_code
        return client

    def cut(self) -> None:
        """Cut every connection that the test has opened."""
        for client in self._clients:
            client.cut()


@asynccontextmanager
async def reloading_broker(directory: Path, **written: object) -> AsyncIterator[ReloadingBroker]:
    """Run a broker for the duration of the block; write keys as for `ReloadingBroker.reload`."""
    broker = ReloadingBroker(
        directory, {name.replace("__", "."): value for name, value in written.items()}
    )
    stop = asyncio.Event()
    broker.running = await RunningBroker.start(broker.read(), broker.read)
    upkeep = asyncio.create_task(broker.running.until(stop))
    try:
        yield broker
        assert broker.running.event_loop.committer.failure is None
    finally:
        broker.cut()
        stop.set()
        await upkeep
        await broker.running.stop()
        asyncio.get_running_loop().remove_signal_handler(signal.SIGHUP)


async def eventually(question: Callable[[], bool]) -> None:
    """Run the loop until `question` returns True, or fail at the deadline."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not question():  # noqa: ASYNC110 - the core has no event to wait for
            await asyncio.sleep(0.001)


def free_ports(count: int) -> list[int]:
    """Return different free ports on loopback."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
