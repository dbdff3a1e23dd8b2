"""What an attack is, and the hand that opens its connections and counts its bytes."""

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
"""How long an attacker waits for an answer that it needs to go on."""

SMALL_BUFFER_BYTES: Final = 4_096

ADDRESSES: Final = 250
"""From so many addresses attackers come, by what the PROXY header says."""

HEAD_BYTES: Final = 64
"""What is kept of the beginning of an answer."""


@dataclass(frozen=True)
class Target:
    """Where a broker and its page listen, all of it on this machine."""

    port: int
    password_port: int
    """A listener that lets nobody in without a user name."""
    proxy_port: int
    """What the network reaches, through a proxy that names the addresses: for strangers."""
    guarded_port: int
    """The same, and nobody is let in without a user name."""
    websocket_port: int
    tls_port: int
    certificates_port: int
    """TLS that demands a client's certificate."""
    page_port: int
    unix_path: str
    folder: str
    """Where tokens and certificates for the attackers are: `site`."""


class Wire(asyncio.Protocol):
    """One connection of an attacker: it sends what it is told and looks at no answer."""

    def __init__(self, hand: "Hand", *, reads: bool) -> None:
        self._hand = hand
        self._reads = reads
        self._was_cut = False
        self.transport: asyncio.Transport
        self.answered = asyncio.Event()
        self.closed = asyncio.Event()
        self.head = b""
        """The first bytes that came."""
        self.received: bytearray | None = None
        """What came, for those who set it; None: it is only counted."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is open."""
        self.transport = cast(asyncio.Transport, transport)
        self._hand.wires.add(self)
        if not self._reads:
            self.transport.pause_reading()

    def data_received(self, data: bytes) -> None:
        """Something came; it is counted and dropped."""
        self._hand.received_bytes += len(data)
        if len(self.head) < HEAD_BYTES:
            self.head += data[: HEAD_BYTES - len(self.head)]
        if self.received is not None:
            self.received += data
        self.answered.set()

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone."""
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
        """Wait until something came, the end included."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self.answered.wait(), PATIENCE_SECONDS)
        self.answered.clear()

    def cut(self) -> None:
        """End the connection without a word."""
        self._was_cut = True
        self.transport.abort()


class Hand:
    """Opens connections to the target until the time is over, and counts what it did."""

    def __init__(self, target: Target, seconds: float, share: float = 1.0) -> None:
        """`share` of what an attack does by itself, where others attack at the same time."""
        self.target = target
        self.seconds = seconds
        self.share = share
        self.wires: set[Wire] = set()
        """Those that are open."""
        self._sources = numbers_from()
        self.closed = 0
        """Connections that the other end closed."""
        self.answers: Counter[str] = Counter()
        self.connections = 0
        self.refused = 0
        """Connections that the kernel or the broker did not take."""
        self.sent_bytes = 0
        self.received_bytes = 0
        self.steps = 0
        self._end = 0.0

    def begin(self, after: float = 0.0) -> None:
        """The time counts from now, of which the attack lets some pass; what was prepared does
        not count."""
        self.connections = self.refused = self.steps = self.closed = 0
        self.answers.clear()
        self.sent_bytes = self.received_bytes = 0
        self._end = time.monotonic() + self.seconds

    def leave(self) -> None:
        """Cut whatever is open."""
        for wire in list(self.wires):
            wire.cut()

    def figures(self) -> dict[str, int]:
        """What was done."""
        return {
            **self.answers,
            "closed": self.closed,
            "connections": self.connections,
            "refused": self.refused,
            "sent_bytes": self.sent_bytes,
            "received_bytes": self.received_bytes,
            "steps": self.steps,
        }

    def some(self, count: int) -> int:
        """The attack's share of so many, at least one."""
        return max(1, round(count * self.share))

    async def paced(
        self, rate: float, count: int | None = None, *, whole: bool = False
    ) -> AsyncIterator[int]:
        """Numbers at a rate a second, until the time is over or there were so many.

        `whole`: at this rate whatever the attack's share, to meet a limit.
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
        """Keep what is open until the time is over."""
        await asyncio.sleep(max(0.0, self._end - time.monotonic()))

    async def open(
        self, port: int | None = None, *, reads: bool = True, source: str = ""
    ) -> Wire | None:
        """A TCP connection; None where it was refused. One that does not read has small buffers.

        `source` is the own address, one of loopback.
        """
        sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if source:
            sock.bind((source, 0))
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

    async def stranger(
        self, port: int | None = None, *, address: int | None = None, reads: bool = True
    ) -> Wire | None:
        """A connection from the network, from one of ADDRESSES in turn, or this one of them."""
        wire = await self.open(port or self.target.proxy_port, reads=reads)
        if wire is not None:
            number = next(self._sources) if address is None else address
            wire.send(b"PROXY TCP4 198.51.100.%d 192.0.2.1 40000 1883\r\n" % (number % ADDRESSES))
        return wire

    async def client(self, client_id: str, *, reads: bool = True, clean: bool = True) -> Wire:
        """A client of MQTT 3.1.1 from the network. Raises OSError where there is no connection."""
        return await self.connected(connect(client_id, clean=clean), reads=reads)

    async def connected(self, packet: bytes, *, reads: bool = True) -> Wire:
        """The same with a CONNECT of the caller's."""
        wire = await self.stranger(reads=reads)
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

    counters: ClassVar[tuple[str, ...]] = ()
    """One of these has to rise in the broker's status or in the attackers' own figures, because a
    limit answers. Empty: the attack is work that the broker does, a slice at a time."""

    async def prepare(self, hand: Hand) -> None:  # noqa: B027 - most find nothing there
        """Put into the broker what the attack finds there."""

    @abstractmethod
    async def run(self, hand: Hand) -> None:
        """Attack until the hand's time is over."""
