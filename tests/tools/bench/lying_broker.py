"""A small broker that forwards messages, and that misbehaves where a test requires it."""

import asyncio
from collections.abc import Callable, Iterable

from gateway.broker.wire.packets import Connack, Connect, Packet, Properties, Publish, Subscribe
from gateway.tools.bench.result import Result
from gateway.tools.bench.run import run
from gateway.tools.bench.scenario import Scenario
from tests.peers.scripted_broker import ScriptedBroker, ServerSide, answers_to

# Returns the messages that the broker sends in place of the message with this number.
Forward = Callable[[int, Publish], Iterable[Publish]]
# Returns the response to a packet, or None for the correct one.
Answer = Callable[[Packet], list[Packet] | None]


def honestly(_number: int, message: Publish) -> Iterable[Publish]:
    return [message]


def truthfully(_packet: Packet) -> list[Packet] | None:
    return None


class LyingBroker(ScriptedBroker):
    """A broker that listens on `port` while its block runs.

    It forwards QoS 2 at PUBLISH, before the release.
    """

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
    """Return a copy of the message, with another payload if one is given."""
    return Publish(
        message.topic,
        message.payload if payload is None else payload,
        message.qos,
        False,
        False,
        message.packet_id,
    )


COUNT = 500
"""Messages per publisher in one run."""


async def result_of(broker: LyingBroker, **options: object) -> Result:
    """Run the load generator against the broker. `options` are fields of `Scenario`."""
    values = {"count": COUNT, "patience_seconds": 0.2} | options
    scenario = Scenario(port=broker.port, **values)  # type: ignore[arg-type]
    return await asyncio.to_thread(run, scenario)
