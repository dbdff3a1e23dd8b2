"""A broker whose configuration a test changes, on real sockets."""

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
    """A broker, the configuration that its next reload reads, and clients of it."""

    def __init__(self, directory: Path, configuration: dict[str, Any]) -> None:
        # A check of a password may take long on a machine that is busy with other tests.
        patient = {"mqtt.connect_timeout": f"{DEADLINE_SECONDS:g}s"}
        self.written = {"gateway.data_dir": directory / "data"} | patient | configuration
        """By `section.key`, as the file would have it."""
        self.running: RunningBroker
        self._clients: list[ByteClient] = []

    def read(self) -> Configuration:
        """What the file is read as."""
        return load(None, {}, self.written, PROTOCOLS)

    def reload(self, **changes: object) -> dict[str, Any]:
        """Change keys, with `__` for the dot, and read the configuration again."""
        self.written |= {name.replace("__", "."): value for name, value in changes.items()}
        return self.running.reloading.reload()

    @property
    def shown(self) -> list[dict[str, Any]]:
        """What the status shows of the listeners."""
        return self.running.listening.shown

    @property
    def errors(self) -> dict[str, int]:
        """What was counted."""
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
        """A client of MQTT 5.0 that has connected at a port."""
        name = None if tls is None else "localhost"
        streams = await asyncio.open_connection("127.0.0.1", port, ssl=tls, server_hostname=name)
        client = ByteClient(*streams)
        self._clients.append(client)
        password = None if user is None else b"secret"
        client.send(connect(client_id, username=user, password=password, level=5))
        assert (await client.packet())[3] == reason_code
        return client

    def cut(self) -> None:
        """End every connection that a test opened."""
        for client in self._clients:
            client.cut()


@asynccontextmanager
async def reloading_broker(directory: Path, **written: object) -> AsyncIterator[ReloadingBroker]:
    """A broker for as long as the block lasts; `written` as in `ReloadingBroker.reload`."""
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
    """Let the loop go on until the answer is yes."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not question():  # noqa: ASYNC110 - the core has no event to wait for
            await asyncio.sleep(0.001)


def free_ports(count: int) -> list[int]:
    """Ports of loopback that are free, all different."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
