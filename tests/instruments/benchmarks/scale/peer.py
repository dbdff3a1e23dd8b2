"""A client that publishes with a window or at a rate, and acknowledges all messages."""

import asyncio
import time
from typing import Self

from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import (
    Packet,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Subscribe,
    Subscription,
)
from tests.peers.mqtt_bytes import PINGREQ, connect

DEADLINE_SECONDS = 120.0


class Peer(asyncio.Protocol):
    """A client of MQTT 3.1.1 with one connection."""

    def __init__(self) -> None:
        self.decoder = Decoder(4 << 20, 4, "client")
        self.transport: asyncio.Transport
        self.taken_count = 0
        self.taken_bytes = 0
        self.done_count = 0
        self.free: list[int] = []
        self.pings: list[float] = []
        self.pinged_at = 0.0
        self.changed = asyncio.Event()

    @classmethod
    async def open(cls, port: int, client_id: str, *, clean: bool = False) -> Self:
        """Connect, and wait for CONNACK."""
        loop = asyncio.get_running_loop()
        _, peer = await loop.create_connection(cls, "127.0.0.1", port)
        peer.transport.write(connect(client_id, clean=clean))
        await peer.until(lambda: peer.decoder_has_begun)
        return peer

    decoder_has_begun = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Store the transport of the open connection."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        """Handle packets, and write all answers together."""
        answers = bytearray()
        for packet in self.decoder.feed(data):
            self._take(packet, answers)
        assert self.decoder.error is None, self.decoder.error
        if answers:
            self.transport.write(bytes(answers))
        self.decoder_has_begun = True
        self.changed.set()

    def _take(self, packet: Packet, answers: bytearray) -> None:
        if isinstance(packet, Publish):
            self.taken_count += 1
            self.taken_bytes += len(packet.payload)
            if packet.qos == 1:
                answers += encode(Puback(packet.packet_id), 4)
            elif packet.qos == 2:
                answers += encode(Pubrec(packet.packet_id), 4)
        elif isinstance(packet, Pubrel):
            answers += encode(Pubcomp(packet.packet_id), 4)
        elif isinstance(packet, Pubrec):
            answers += encode(Pubrel(packet.packet_id), 4)
        elif isinstance(packet, Puback | Pubcomp):
            self.done_count += 1
            self.free.append(packet.packet_id)
        elif self.pinged_at:
            self.pings.append(time.monotonic() - self.pinged_at)
            self.pinged_at = 0.0

    async def until(self, question: object) -> None:
        """Wait until `question` returns True. It is called after each read."""
        assert callable(question)
        async with asyncio.timeout(DEADLINE_SECONDS):
            while not question():
                self.changed.clear()
                await self.changed.wait()

    async def subscribe(self, topic_filter: str, qos: int) -> None:
        """Subscribe, and wait until the broker has answered."""
        self.decoder_has_begun = False
        self.transport.write(encode(Subscribe(1, [Subscription(topic_filter, qos)]), 4))
        await self.until(lambda: self.decoder_has_begun)

    async def publish(
        self, topic: str, payload: bytes, qos: int, count: int, *, window: int = 100
    ) -> None:
        """Publish `count` messages, and wait until all are acknowledged.

        At most `window` messages are unacknowledged at the same time.
        """
        self.free = list(range(1, window + 1))
        done = self.done_count + count
        sent = 0
        while self.done_count < done:
            batch = bytearray()
            while self.free and sent < count:
                batch += encode(Publish(topic, payload, qos, False, False, self.free.pop()), 4)
                sent += 1
            if batch:
                self.transport.write(bytes(batch))
            self.changed.clear()
            await asyncio.wait_for(self.changed.wait(), DEADLINE_SECONDS)

    async def publish_at(
        self, topic: str, payload: bytes, qos: int, rate: float, seconds: float
    ) -> int:
        """Publish at a steady rate. Return the number of messages."""
        self.free = list(range(1, 101))
        began, sent = time.monotonic(), 0
        done = self.done_count
        while time.monotonic() - began < seconds:
            if self.free:
                packet = Publish(topic, payload, qos, False, False, self.free.pop())
                self.transport.write(encode(packet, 4))
                sent += 1
            await asyncio.sleep(max(0.0, began + sent / rate - time.monotonic()))
        await self.until(lambda: self.done_count >= done + sent)
        return sent

    async def ping(self) -> float:
        """Return the seconds from PINGREQ to PINGRESP."""
        asked = len(self.pings)
        self.pinged_at = time.monotonic()
        self.transport.write(PINGREQ)
        await self.until(lambda: len(self.pings) > asked)
        return self.pings[-1]
