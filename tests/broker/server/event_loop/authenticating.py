"""A broker with users who log in by SCRAM, in the test's own event loop."""

import asyncio
import time
from pathlib import Path

from gateway.broker.core.sessions.connection import Connection
from gateway.broker.server.listeners.stream import MqttProtocol
from gateway.broker.server.main import RunningBroker
from gateway.broker.wire.packets import (
    Pingreq,
    Pingresp,
)
from tests.broker.access.scram_client import ScramClient
from tests.peers.connection import DEADLINE_SECONDS
from tests.peers.packet_client import PacketClient

ITERATIONS = 4_096


class Broker:
    """A broker in this process with the users alice and bob, whose passwords are `secret`."""

    def __init__(self, running: RunningBroker, passwords: Path) -> None:
        self.running = running
        self.passwords = passwords
        self.port: int = running.listening.shown[0]["port"]

    @property
    def exchange_count(self) -> int:
        return len(self.running.event_loop.authentications._exchanges)

    @property
    def errors(self) -> dict[str, int]:
        return self.running.event_loop.broker.statistics.errors

    def connections(self) -> list[Connection]:
        return list(self.running.event_loop.channels)

    def is_reading(self) -> bool:
        (protocol,) = self.running.event_loop.channels.values()
        assert isinstance(protocol, MqttProtocol)
        return protocol.transport.is_reading()

    async def open(self) -> PacketClient:
        return await PacketClient.open(self.port)

    async def quiet(self) -> None:
        """Wait until all connections are closed, and assert that no exchange remains."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while self.connections():
            assert time.monotonic() < deadline, "a connection outlived its client"
            await asyncio.sleep(0)
        assert self.exchange_count == 0


def alice(nonce: str = "n-alice") -> ScramClient:
    return ScramClient("alice", "secret", nonce)


async def is_alive(client: PacketClient) -> bool:
    client.send(Pingreq())
    return isinstance(await client.receive(), Pingresp)
