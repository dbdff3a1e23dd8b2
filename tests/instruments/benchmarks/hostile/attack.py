"""The base class of attacks, and `Hand`, which opens an attack's connections and counts bytes."""

import asyncio
import contextlib
import socket
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from itertools import count as numbers_from
from typing import ClassVar, Final, cast

from tests.instruments.benchmarks.hostile.memory import Allowance
from tests.peers.mqtt_bytes import connect

PATIENCE_SECONDS: Final = 10.0
"""Timeout for a response that an attacker needs to continue."""

SMALL_BUFFER_BYTES: Final = 4_096

ADDRESSES: Final = 250
"""The number of attackers' addresses in the PROXY headers."""

HEAD_BYTES: Final = 64
"""Bytes stored from the beginning of a response."""


@dataclass(frozen=True)
class Target:
    """The ports and paths of a broker and its page, all of them on this machine."""

    port: int
    password_port: int
    """A listener that demands a user name."""
    proxy_port: int
    """A listener for strangers from the network, behind a proxy that names their addresses."""
    guarded_port: int
    """A listener behind a proxy that demands a user name."""
    websocket_port: int
    tls_port: int
    certificates_port: int
    """A TLS listener that demands a client certificate."""
    page_port: int
    unix_path: str
    folder: str
    """The folder with tokens and certificates for the attackers, written by `site`."""


class Wire(asyncio.Protocol):
    """A connection of an attacker, which sends bytes and only counts the bytes that arrive."""

    def __init__(self, hand: "Hand", *, reads: bool) -> None:
        self._hand = hand
        self._reads = reads
        self._was_cut = False
        self.transport: asyncio.Transport
        self.answered = asyncio.Event()
        self.closed = asyncio.Event()
        self.head = b""
        """The first received bytes."""
        self.received: bytearray | None = None
        """All received bytes if a caller has set a buffer. None only counts them."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Register the open connection."""
        self.transport = cast(asyncio.Transport, transport)
        self._hand.wires.add(self)
        if not self._reads:
            self.transport.pause_reading()

    def data_received(self, data: bytes) -> None:
        """Count received bytes."""
        self._hand.received_bytes += len(data)
        if len(self.head) < HEAD_BYTES:
            self.head += data[: HEAD_BYTES - len(self.head)]
        if self.received is not None:
            self.received += data
        self.answered.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """Note the end of the connection."""
        self._hand.wires.discard(self)
        self._hand.closed += not self._was_cut
        self.closed.set()
        self.answered.set()

    def send(self, data: bytes) -> None:
        """Send, unless the broker has closed the connection."""
        if not self.transport.is_closing():
            self._hand.sent_bytes += len(data)
            self.transport.write(data)

    async def answer(self) -> None:
        """Wait until bytes arrive or the connection ends, at most PATIENCE_SECONDS."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.answered.wait(), PATIENCE_SECONDS)
        self.answered.clear()

    def cut(self) -> None:
        """Cut the connection without a DISCONNECT."""
        self._was_cut = True
        self.transport.abort()


class Hand:
    """Opens connections to the target during a limited time, and counts what it did."""

    def __init__(self, target: Target, seconds: float, share: float = 1.0) -> None:
        """`share` is the fraction of the attack's usual work, if other attacks run as well."""
        self.target = target
        self.seconds = seconds
        self.share = share
        self.wires: set[Wire] = set()
        """The open connections."""
        self._sources = numbers_from()
        self.closed = 0
        """Connections that the other end closed."""
        self.answers: Counter[str] = Counter()
        self.connections = 0
        self.refused = 0
        """Connections that the kernel or the broker did not accept."""
        self.sent_bytes = 0
        self.received_bytes = 0
        self.steps = 0
        self._end = 0.0

    def begin(self, after: float = 0.0) -> None:
        """Start the attack's time, of which the attack waits `after` seconds.

        Reset all counters.
        """
        self.connections = self.refused = self.steps = self.closed = 0
        self.answers.clear()
        self.sent_bytes = self.received_bytes = 0
        self._end = time.monotonic() + self.seconds

    def leave(self) -> None:
        """Cut all open connections."""
        for wire in list(self.wires):
            wire.cut()

    def figures(self) -> dict[str, int]:
        """Return the counters by name."""
        return {
            **self.answers,
            "closed connections": self.closed,
            "connections": self.connections,
            "refused": self.refused,
            "sent_bytes": self.sent_bytes,
            "received_bytes": self.received_bytes,
            "steps": self.steps,
        }

    def some(self, count: int) -> int:
        """Return the attack's share of `count`, at least 1."""
        return max(1, round(count * self.share))

    async def paced(
        self, rate: float, count: int | None = None, *, whole: bool = False
    ) -> AsyncIterator[int]:
        """Yield numbers at a rate per second, until the time is over or `count` is reached.

        With `whole`, the rate is not reduced to the attack's share, so that it reaches a limit.
        """
        rate = rate if whole else rate * self.share
        began, number = time.monotonic(), 0
        while time.monotonic() < self._end and (count is None or number < count):
            self.steps += 1
            yield number
            number += 1
            due = min(began + number / rate, self._end)
            await asyncio.sleep(max(0.0, due - time.monotonic()))

    async def rest(self) -> None:
        """Keep the connections open until the time is over."""
        await asyncio.sleep(max(0.0, self._end - time.monotonic()))

    async def open(
        self, port: int | None = None, *, reads: bool = True, source: str = ""
    ) -> Wire | None:
        """Open a TCP connection, or return None if it is refused.

        `source` is the local address, one of loopback. A connection that does not read has small
        buffers.
        """
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if source:
            sock.bind((source, 0))
        if not reads:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER_BYTES)
        address = ("127.0.0.1", self.target.port if port is None else port)
        return await self._open(sock, address, reads=reads)

    async def open_unix(self, name: bytes | None) -> Wire | None:
        """Connect to the Unix socket, from a socket that has this name."""
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

    async def stranger(
        self, port: int | None = None, *, address: int | None = None, reads: bool = True
    ) -> Wire | None:
        """Open a connection from the network, with `address` or the next of ADDRESSES addresses."""
        wire = await self.open(port or self.target.proxy_port, reads=reads)
        if wire is not None:
            number = next(self._sources) if address is None else address
            wire.send(b"PROXY TCP4 198.51.100.%d 192.0.2.1 40000 1883\r\n" % (number % ADDRESSES))
        return wire

    async def client(self, client_id: str, *, reads: bool = True, clean: bool = True) -> Wire:
        """Connect a client of MQTT 3.1.1 from the network.

        Raises OSError if there is no connection.
        """
        return await self.connected(connect(client_id, clean=clean), reads=reads)

    async def connected(self, packet: bytes, *, reads: bool = True) -> Wire:
        """Open a connection from the network and send `packet`, a CONNECT.

        Raises ConnectionRefusedError if there is no connection.
        """
        wire = await self.stranger(reads=reads)
        if wire is None:
            raise ConnectionRefusedError("the broker accepts no connection")
        wire.send(packet)
        if reads:
            await wire.answer()
        return wire


class Attack(ABC):
    """An attack on other clients. `prepare` runs before the calm latencies are measured."""

    name: ClassVar[str]
    sentence: ClassVar[str]
    """The attack and its rate in a sentence, for the document."""

    allowance: ClassVar[Allowance] = Allowance()
    """The memory that the limits allow for this attack, beyond the broker's usual memory."""

    counters: ClassVar[tuple[str, ...]] = ()
    """Names of counters, one of which must rise because a limit stops the attack.

    The counters are in the broker's status or in the attackers' own figures. An attack without any
    is work that the broker does one slice at a time.
    """

    async def prepare(self, hand: Hand) -> None:  # noqa: B027 - most attacks prepare nothing
        """Prepare the broker's state, such as retained messages."""

    @abstractmethod
    async def run(self, hand: Hand) -> None:
        """Attack until the hand's time is over."""
