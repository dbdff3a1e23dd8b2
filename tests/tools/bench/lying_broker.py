"""A small broker that forwards messages, and lies where a test requires it."""

import asyncio
from collections.abc import Callable, Iterable

from gateway.broker.wire.packets import Connack, Connect, Packet, Properties, Publish, Subscribe
from gateway.tools.bench.result import Result
from gateway.tools.bench.run import run
from gateway.tools.bench.scenario import Scenario
from tests.peers.scripted_broker import ScriptedBroker, ServerSide, answers_to

# What leaves instead of one message, which is the so-many-th.
Forward = Callable[[int, Publish], Iterable[Publish]]
# What is answered to one packet; None: the truth.
Answer = Callable[[Packet], list[Packet] | None]


def honestly(_number: int, message: Publish) -> Iterable[Publish]:
    return [message]


def truthfully(_packet: Packet) -> list[Packet] | None:
    return None


class LyingBroker(ScriptedBroker):
    """Listens on `port` while it is entered. QoS 2 is forwarded at PUBLISH, which is early."""

    def __init__(
        self,
        *,
        forward: Forward = honestly,
        answer: Answer = truthfully,
        connack: Properties | None = None,
        close_after: int | None = None,
    ) -> None:
        super().__init__()
        self.seen: list[Packet] = []
        self._forward = forward
        self._answer = answer
        self._connack = connack
        self._close_after = close_after
        self._forwarded = 0
        self._subscribers: list[tuple[ServerSide, set[str]]] = []

    def receive(self, packet: Packet, connection: ServerSide) -> None:
        if not isinstance(packet, Publish):
            self.seen.append(packet)
        answers = self._answer(packet)
        if answers is None and isinstance(packet, Connect):
            answers = [Connack(False, 0, self._connack)]
        connection.send(*(answers_to(packet) if answers is None else answers))
        if isinstance(packet, Subscribe):
            topics = {subscription.topic_filter for subscription in packet.subscriptions}
            self._subscribers.append((connection, topics))
        elif isinstance(packet, Publish):
            for sent in self._forward(self._forwarded, packet):
                for subscriber, topics in self._subscribers:
                    if packet.topic in topics:
                        subscriber.send(sent)
            self._forwarded += 1
            if self._forwarded == self._close_after:
                connection.close()


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
