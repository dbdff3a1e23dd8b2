"""One honest client each: it comes back where its connection is cut, and sends again what was not
acknowledged, as the standard says. Answers leave inside the transport's callback, so that no turn
of the event loop counts as the broker's.
"""

import asyncio
import contextlib
import ssl
import time
from collections import Counter
from dataclasses import dataclass
from typing import Final, cast

from tests.instruments.benchmarks.hostile.figures import SERIES, Conservation
from tests.peers.mqtt_bytes import (
    Kind,
    PacketReader,
    Received,
    acknowledgement,
    connect,
    publish,
    subscribe,
)

PAYLOAD_BYTES: Final = 64
WINDOW: Final = 50
"""Half of what the broker takes by default: an honest client is not the one that is cut."""
DRAIN_SECONDS: Final = 30.0
COME_BACK_SECONDS: Final = 0.2
TOPIC: Final = "sensors/honest/{qos}"


@dataclass(frozen=True)
class Way:
    """How a client reaches the broker, and as whom."""

    port: int
    username: str | None = None
    password: bytes | None = None
    tls: ssl.SSLContext | None = None


class Ledger:
    """What was sent, when it was due, when it was acknowledged and received; times in seconds."""

    def __init__(self, due: dict[tuple[int, int], float] | None = None) -> None:
        """`due` is shared by the ledgers of several subscribers."""
        self.due: dict[tuple[int, int], float] = {} if due is None else due
        """By QoS and number."""
        self.received: Counter[tuple[int, int]] = Counter()
        self.acknowledged: set[tuple[int, int]] = set()
        self.latencies: dict[str, list[float]] = {name: [] for name in SERIES}
        self.connections_lost = 0
        self.departures = 0
        """Connections that the client itself cut: what was in flight may come again at QoS 1, and
        QoS 0 passes by."""

    def note(self, name: str, key: tuple[int, int]) -> None:
        """Something arrived: keep how late it was."""
        self.latencies[name].append(time.monotonic() - self.due[key])

    def take_acknowledgement(self, qos: int, number: int) -> None:
        """PUBACK or PUBCOMP."""
        self.acknowledged.add((qos, number))
        self.note(f"QoS {qos} acknowledged", (qos, number))

    def take_message(self, payload: bytes) -> None:
        """The subscriber got a message for the first time or again."""
        key = payload[0], int.from_bytes(payload[1:9], "big")
        self.received[key] += 1
        if self.received[key] == 1:
            self.note(f"QoS {key[0]} received", key)

    def conservation(self) -> Conservation:
        """Held against each other.

        At QoS 1 a message may come again with a connection that was lost, which is a failure of its
        own: it counts as doubled where none was.
        """
        again = [key for key, count in self.received.items() if count > 1]
        if self.connections_lost or self.departures:
            again = [key for key in again if key[0] != 1]
        expected = [key for key in self.due if key[0] or not self.departures]
        return Conservation(
            len(expected),
            sum(key not in self.received for key in expected),
            len(again),
            self.connections_lost,
        )


class HonestClient(asyncio.Protocol):
    """One client of MQTT 3.1.1 with a persistent session."""

    def __init__(self, way: Way, client_id: str, ledger: Ledger) -> None:
        self._way = way
        self._client_id = client_id
        self._reader = PacketReader()
        self._leaving = False
        self._again: asyncio.Task[None] | None = None
        self.ledger = ledger
        self.transport: asyncio.Transport | None = None
        self.is_let_in = False
        """CONNACK has come. Nothing is published before: what is under way goes again behind it."""
        self.answered = asyncio.Event()
        """The broker said something; cleared by whoever waits for it."""

    async def open(self) -> None:
        """Connect, and wait for CONNACK."""
        await self._connect()
        await asyncio.wait_for(self.answered.wait(), DRAIN_SECONDS)

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        await loop.create_connection(lambda: self, "127.0.0.1", self._way.port, ssl=self._way.tls)

    def leave(self) -> None:
        """Cut the connection for good."""
        self._leaving = True
        if self._again is not None:
            self._again.cancel()
        if self.transport is not None:
            self.transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The socket is open."""
        self._reader = PacketReader()
        self.answered.clear()
        self.transport = cast(asyncio.Transport, transport)
        way = self._way
        first = connect(self._client_id, clean=False, username=way.username, password=way.password)
        self.transport.write(first)

    def connection_lost(self, exc: Exception | None) -> None:
        """Come back to the session."""
        self.transport = None
        self.is_let_in = False
        if not self._leaving:
            self.ledger.connections_lost += 1
            self._again = asyncio.get_running_loop().create_task(self._come_back())

    async def _come_back(self) -> None:
        while self.transport is None:
            await asyncio.sleep(COME_BACK_SECONDS)
            with contextlib.suppress(OSError):
                await self._connect()

    def data_received(self, data: bytes) -> None:
        """Take packets; one write for all answers."""
        answers = bytearray()
        for packet in self._reader.feed(data):
            if packet.kind is Kind.CONNACK:
                self.is_let_in = True
                answers += self._sent_again()
            else:
                answers += self._answer_to(packet)
        if answers and self.transport is not None:
            self.transport.write(bytes(answers))
        self._go_on()
        self.answered.set()

    def _go_on(self) -> None:
        """Send what waited until now."""

    def _sent_again(self) -> bytes:
        """What was under way, to be sent behind a CONNACK."""
        return b""

    def _answer_to(self, packet: Received) -> bytes:
        return b""


class HonestSubscriber(HonestClient):
    """Takes every message at QoS 2."""

    def __init__(self, way: Way, ledger: Ledger, client_id: str = "honest-subscriber") -> None:
        super().__init__(way, client_id, ledger)
        self._unreleased: set[int] = set()

    async def subscribe(self) -> None:
        """Subscribe, and wait for SUBACK."""
        assert self.transport is not None
        self.answered.clear()
        self.transport.write(subscribe(1, (TOPIC.format(qos="+"), 2)))
        await asyncio.wait_for(self.answered.wait(), DRAIN_SECONDS)

    def _answer_to(self, packet: Received) -> bytes:
        if packet.kind is Kind.PUBLISH and packet.qos < 2:
            self.ledger.take_message(packet.payload)
            return acknowledgement(Kind.PUBACK, packet.packet_id) if packet.qos else b""
        if packet.kind is Kind.PUBLISH:
            if packet.packet_id not in self._unreleased:
                self._unreleased.add(packet.packet_id)
                self.ledger.take_message(packet.payload)
            return acknowledgement(Kind.PUBREC, packet.packet_id)
        if packet.kind is Kind.PUBREL:
            self._unreleased.discard(packet.packet_id)
            return acknowledgement(Kind.PUBCOMP, packet.packet_id)
        return b""


class HonestPublisher(HonestClient):
    """Publishes at one QoS, with at most WINDOW messages under way."""

    def __init__(self, way: Way, qos: int, ledger: Ledger) -> None:
        super().__init__(way, f"honest-publisher-{qos}", ledger)
        self._qos = qos
        self._free = list(range(WINDOW, 0, -1))
        self._under_way: dict[int, int] = {}
        """Numbers by packet identifier."""
        self._released: set[int] = set()
        self._behind: list[int] = []
        """Numbers that are due and wait for the window."""
        self._next = 0

    def send(self, due: float) -> None:
        """A message is due; it leaves now, or when the window opens."""
        self.ledger.due[self._qos, self._next] = due
        self._behind.append(self._next)
        self._next += 1
        self._go_on()

    def is_idle(self) -> bool:
        """Everything that was due is acknowledged."""
        return not self._behind and not self._under_way

    def _go_on(self) -> None:
        while self._behind and self._free and self.is_let_in and self.transport is not None:
            number = self._behind.pop(0)
            packet_id = 0
            if self._qos:
                packet_id = self._free.pop()
                self._under_way[packet_id] = number
            self.transport.write(self._packet_of(packet_id, number, dup=False))

    def _packet_of(self, packet_id: int, number: int, *, dup: bool) -> bytes:
        payload = bytes([self._qos]) + number.to_bytes(8, "big")
        return publish(
            TOPIC.format(qos=self._qos),
            payload.ljust(PAYLOAD_BYTES, b"."),
            qos=self._qos,
            packet_id=packet_id,
            dup=dup,
        )

    def _sent_again(self) -> bytes:
        # In the order in which they were sent first [MQTT-4.6.0-1]: a dict keeps it.
        return b"".join(
            acknowledgement(Kind.PUBREL, packet_id)
            if packet_id in self._released
            else self._packet_of(packet_id, number, dup=True)
            for packet_id, number in self._under_way.items()
        )

    def _answer_to(self, packet: Received) -> bytes:
        if packet.kind is Kind.PUBREC:
            self._released.add(packet.packet_id)
            return acknowledgement(Kind.PUBREL, packet.packet_id)
        if packet.kind in (Kind.PUBACK, Kind.PUBCOMP):
            self._released.discard(packet.packet_id)
            number = self._under_way.pop(packet.packet_id, None)
            if number is not None:
                self.ledger.take_acknowledgement(self._qos, number)
                self._free.append(packet.packet_id)
        return b""
