"""What an attack is, and the hand that opens its connections and counts its bytes."""

import asyncio
import contextlib
import socket
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import ClassVar, Final, cast

from tests.instruments.benchmarks.hostile.memory import Allowance
from tests.peers.mqtt_bytes import connect

PATIENCE_SECONDS: Final = 10.0
"""How long an attacker waits for an answer that it needs to go on."""

SMALL_BUFFER_BYTES: Final = 4_096


@dataclass(frozen=True)
class Target:
    """Where a broker listens, all of it on this machine."""

    port: int
    password_port: int
    """A listener that lets nobody in without a user name."""
    proxy_port: int
    websocket_port: int
    unix_path: str


class Wire(asyncio.Protocol):
    """One connection of an attacker: it sends what it is told and looks at no answer."""

    def __init__(self, hand: "Hand", *, reads: bool) -> None:
        self._hand = hand
        self._reads = reads
        self.transport: asyncio.Transport
        self.answered = asyncio.Event()
        self.closed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is open."""
        self.transport = cast(asyncio.Transport, transport)
        if not self._reads:
            self.transport.pause_reading()

    def data_received(self, data: bytes) -> None:
        """Something came; it is counted and dropped."""
        self._hand.received_bytes += len(data)
        self.answered.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
        self.closed.set()
        self.answered.set()

    def send(self, data: bytes) -> None:
        """Send, unless the broker has closed the connection."""
        if not self.transport.is_closing():
            self._hand.sent_bytes += len(data)
            self.transport.write(data)

    async def answer(self) -> None:
        """Wait until something came, the end included."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.answered.wait(), PATIENCE_SECONDS)
        self.answered.clear()

    def cut(self) -> None:
        """End the connection without a word."""
        self.transport.abort()


class Hand:
    """Opens connections to the target until the time is over, and counts what it did."""

    def __init__(self, target: Target, seconds: float) -> None:
        self.target = target
        self.seconds = seconds
        self.connections = 0
        self.refused = 0
        """Connections that the kernel or the broker did not take."""
        self.sent_bytes = 0
        self.received_bytes = 0
        self.steps = 0
        self._end = 0.0

    def begin(self) -> None:
        """The attack begins now; what was prepared does not count."""
        self.connections = self.refused = self.steps = 0
        self.sent_bytes = self.received_bytes = 0
        self._end = time.monotonic() + self.seconds

    def figures(self) -> dict[str, int]:
        """What was done."""
        return {
            "connections": self.connections,
            "refused": self.refused,
            "sent_bytes": self.sent_bytes,
            "received_bytes": self.received_bytes,
            "steps": self.steps,
        }

    async def paced(self, rate: float, count: int | None = None) -> AsyncIterator[int]:
        """Numbers at a rate a second, until the time is over or there were so many."""
        began, number = time.monotonic(), 0
        while time.monotonic() < self._end and (count is None or number < count):
            self.steps += 1
            yield number
            number += 1
            await asyncio.sleep(max(0.0, began + number / rate - time.monotonic()))

    async def rest(self) -> None:
        """Keep what is open until the time is over."""
        await asyncio.sleep(max(0.0, self._end - time.monotonic()))

    async def open(self, port: int | None = None, *, reads: bool = True) -> Wire | None:
        """A TCP connection; None where it was refused. One that does not read has small buffers."""
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if not reads:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER_BYTES)
        address = ("127.0.0.1", self.target.port if port is None else port)
        return await self._open(sock, address, reads=reads)

    async def open_unix(self, name: bytes | None) -> Wire | None:
        """A connection to the Unix socket, from a socket that has this name."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        if name is not None:
            sock.bind(name)
        return await self._open(sock, self.target.unix_path, reads=True)

    async def _open(
        self, sock: socket.socket, address: tuple[str, int] | str, *, reads: bool
    ) -> Wire | None:
        loop = asyncio.get_running_loop()
        sock.setblocking(False)
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await loop.sock_connect(sock, address)
                _, wire = await loop.create_connection(lambda: Wire(self, reads=reads), sock=sock)
        except (OSError, TimeoutError):
            sock.close()
            self.refused += 1
            return None
        self.connections += 1
        return wire

    async def client(self, client_id: str, *, reads: bool = True, clean: bool = True) -> Wire:
        """A client of MQTT 3.1.1 that the broker has let in. Raises OSError where it has not."""
        return await self.connected(connect(client_id, clean=clean), reads=reads)

    async def connected(self, packet: bytes, *, reads: bool = True) -> Wire:
        """The same with a CONNECT of the caller's."""
        wire = await self.open(reads=reads)
        if wire is None:
            raise ConnectionRefusedError("the broker takes no connection")
        wire.send(packet)
        if reads:
            await wire.answer()
        return wire


class Attack(ABC):
    """One way to hurt others; `prepare` happens before the calm is measured."""

    name: ClassVar[str]
    sentence: ClassVar[str]
    """What it does, with its rate, for the document."""

    allowance: ClassVar[Allowance] = Allowance()
    """What the limits let it cost, beside what the broker needs in any case."""

    async def prepare(self, hand: Hand) -> None:  # noqa: B027 - most find nothing there
        """Put into the broker what the attack finds there."""

    @abstractmethod
    async def run(self, hand: Hand) -> None:
        """Attack until the hand's time is over."""
