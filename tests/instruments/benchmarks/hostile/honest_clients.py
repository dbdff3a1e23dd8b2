"""Honest clients, each with one connection that it reopens when it is cut.

A client resends what was not acknowledged, as the standard requires. It answers inside the
transport's callback, so that the broker is not charged for a turn of the event loop.
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
"""Half of what the broker allows by default, so that an honest client is never cut for it."""
DRAIN_SECONDS: Final = 30.0
COME_BACK_SECONDS: Final = 0.2
TOPIC: Final = "sensors/honest/{qos}"


@dataclass(frozen=True)
class Way:
    """The port, the credentials and the TLS context with which a client connects."""

    port: int
    username: str | None = None
    password: bytes | None = None
    tls: ssl.SSLContext | None = None


class Ledger:
    """The times at which messages were due, acknowledged and received, in seconds."""

    def __init__(self, due: dict[tuple[int, int], float] | None = None) -> None:
        """`due` is shared by the ledgers of several subscribers."""
        self.due: dict[tuple[int, int], float] = {} if due is None else due
        """Times by QoS and number."""
        self.received: Counter[tuple[int, int]] = Counter()
        self.acknowledged: set[tuple[int, int]] = set()
        self.latencies: dict[str, list[float]] = {name: [] for name in SERIES}
        self.connections_lost = 0
        self.departures = 0
        """Connections that the client itself cut.

        After this, QoS 1 messages in flight may be repeated, and QoS 0 messages missed.
        """

    def note(self, name: str, key: tuple[int, int]) -> None:
        """Record the latency of an arrival."""
        self.latencies[name].append(time.monotonic() - self.due[key])

    def take_acknowledgement(self, qos: int, number: int) -> None:
        """Record a PUBACK or PUBCOMP."""
        self.acknowledged.add((qos, number))
        self.note(f"QoS {qos} acknowledged", (qos, number))

    def take_message(self, payload: bytes) -> None:
        """Record a message that the subscriber received, possibly a repeated one."""
        key = payload[0], int.from_bytes(payload[1:9], "big")
        self.received[key] += 1
        if self.received[key] == 1:
            self.note(f"QoS {key[0]} received", key)

    def conservation(self) -> Conservation:
        """Compare the sent messages with the received ones.

        At QoS 1 a message may be repeated after a lost connection, which is a failure by itself. A
        repeated message counts as doubled only if no connection was lost.
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
    """A client of MQTT 3.1.1 with a persistent session."""

    def __init__(self, way: Way, client_id: str, ledger: Ledger) -> None:
        self._way = way
        self._client_id = client_id
        self._reader = PacketReader()
        self._leaving = False
        self._again: asyncio.Task[None] | None = None
        self.ledger = ledger
        self.transport: asyncio.Transport | None = None
        self.is_let_in = False
        """CONNACK has arrived.

        Nothing is published before, because unacknowledged messages come first.
        """
        self.answered = asyncio.Event()
        """Set when the broker has sent something. A waiting caller clears it."""

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
        """Send CONNECT on the new connection."""
        self._reader = PacketReader()
        self.answered.clear()
        self.transport = cast(asyncio.Transport, transport)
        way = self._way
        first = connect(self._client_id, clean=False, username=way.username, password=way.password)
        self.transport.write(first)

    def connection_lost(self, exc: Exception | None) -> None:
        """Reconnect to the session, unless the client has left."""
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
        """Handle packets, and write all answers together."""
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
        """Send the messages that have been waiting. Only publishers have any."""

    def _sent_again(self) -> bytes:
        """Return the unacknowledged packets, which are resent after CONNACK."""
        return b""

    def _answer_to(self, packet: Received) -> bytes:
        return b""


class HonestSubscriber(HonestClient):
    """A client that receives every message at QoS 2."""

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
    """A client that publishes at one QoS, with at most WINDOW messages in flight."""

    def __init__(self, way: Way, qos: int, ledger: Ledger) -> None:
        super().__init__(way, f"honest-publisher-{qos}", ledger)
        self._qos = qos
        self._free = list(range(WINDOW, 0, -1))
        self._under_way: dict[int, int] = {}
        """Message numbers by packet identifier."""
        self._released: set[int] = set()
        self._behind: list[int] = []
        """Numbers of messages that are due and wait for the window."""
        self._next = 0

    def send(self, due: float) -> None:
        """Send a message that is due, or queue it until the window opens."""
        self.ledger.due[self._qos, self._next] = due
        self._behind.append(self._next)
        self._next += 1
        self._go_on()

    def is_idle(self) -> bool:
        """Return True if everything that was due is acknowledged."""
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
        # In the order in which they were first sent [MQTT-4.6.0-1], which the dict keeps.
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
