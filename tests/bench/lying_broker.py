"""A small broker that forwards messages, and lies where a test tells it to."""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from gateway.bench.result import Result
from gateway.bench.run import run
from gateway.bench.scenario import Scenario
from gateway.wire.decoder import Decoder
from gateway.wire.encoder import encode
from gateway.wire.packets import (
    Connack,
    Connect,
    Packet,
    Pingreq,
    Pingresp,
    Properties,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
)

# What leaves instead of one message, which is the so-many-th.
Forward = Callable[[int, Publish], Iterable[Publish]]
# What is answered to one packet; None: the truth.
Answer = Callable[[Packet], list[Packet] | None]


def honestly(_number: int, message: Publish) -> Iterable[Publish]:
    return [message]


def truthfully(_packet: Packet) -> list[Packet] | None:
    return None


@dataclass
class LyingBroker:
    """Listens on `port` while it is entered. QoS 2 is forwarded at PUBLISH, which is early."""

    forward: Forward = honestly
    answer: Answer = truthfully
    connack: Properties | None = None
    close_after: int | None = None
    port: int = 0
    seen: list[Packet] = field(default_factory=list)
    _forwarded: int = 0
    _subscribers: list[tuple[asyncio.StreamWriter, int, set[str]]] = field(default_factory=list)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        decoder = Decoder(1 << 24)
        try:
            while data := await reader.read(1 << 16):
                for packet in decoder.feed(data):
                    self._take(packet, writer, decoder.version)
                await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            # The test is over, or the load generator has had enough of us.
            return
        finally:
            writer.close()

    def _take(self, packet: Packet, writer: asyncio.StreamWriter, version: int) -> None:
        if not isinstance(packet, Publish):
            self.seen.append(packet)
        answers = self.answer(packet)
        for answer in self._truth(packet) if answers is None else answers:
            writer.write(encode(answer, version))
        if isinstance(packet, Subscribe):
            topics = {subscription.topic_filter for subscription in packet.subscriptions}
            self._subscribers.append((writer, version, topics))
        elif isinstance(packet, Publish):
            self._forward(packet)
            if self._forwarded == self.close_after:
                writer.close()

    def _forward(self, message: Publish) -> None:
        for sent in self.forward(self._forwarded, message):
            for writer, version, topics in self._subscribers:
                if message.topic in topics:
                    writer.write(encode(sent, version))
        self._forwarded += 1

    def _truth(self, packet: Packet) -> list[Packet]:
        answer: Packet | None = None
        match packet:
            case Connect():
                answer = Connack(False, 0, self.connack)
            case Subscribe():
                answer = Suback(packet.packet_id, [s.qos for s in packet.subscriptions])
            case Publish(qos=1):
                answer = Puback(packet.packet_id)
            case Publish(qos=2):
                answer = Pubrec(packet.packet_id)
            case Pubrec():
                answer = Pubrel(packet.packet_id)
            case Pubrel():
                answer = Pubcomp(packet.packet_id)
            case Pingreq():
                answer = Pingresp()
        return [] if answer is None else [answer]


def copy_of(message: Publish, payload: bytes | None = None) -> Publish:
    """The same message, or one with another payload."""
    return Publish(
        message.topic,
        message.payload if payload is None else payload,
        message.qos,
        False,
        False,
        message.packet_id,
    )


COUNT = 500
"""Messages of each publisher of a run."""


async def result_of(broker: LyingBroker, **options: object) -> Result:
    """One run against the broker; `options` are of `Scenario`."""
    values = {"count": COUNT, "patience_seconds": 0.2} | options
    scenario = Scenario(port=broker.port, **values)  # type: ignore[arg-type]
    return await asyncio.to_thread(run, scenario)
