"""Takeover during delivery: no message is lost, none is duplicated at QoS 2, and all are in order.

The clients take over from themselves, like a device whose first connection hangs. The second
connection is opened while the first still carries packets in both directions. Packets that had
arrived on the first count as received; the broker does not see responses that were sent on it too
late.
"""

import asyncio
import os
import random
import time
from collections.abc import Callable
from contextlib import AsyncExitStack

import pytest

from tests.peers.byte_client import ByteClient
from tests.peers.mqtt_bytes import Received
from tests.peers.resuming_client import Progress, Publisher, ResumingClient, Subscriber
from tests.system.stage import Stage

MESSAGES = 2_000
TAKEOVERS_MIN = 10
"""Fewest takeovers per client, enough to meet every step of an exchange in both directions."""
DEADLINE_SECONDS = 90.0
PACKETS_BEFORE_TAKEOVER = (1, 150)


class TakesOver(ResumingClient):
    """A client that opens its next connection while the previous one is still open."""

    async def run(self) -> None:
        """Take over again and again until the client is finished."""
        async with AsyncExitStack() as connections:
            before: ByteClient | None = None
            while not self.is_finished():
                client = await connections.enter_async_context(await ByteClient.open(self._port))
                connack = await client.connect(self.client_id, clean=False)
                assert connack.return_code == 0
                assert connack.session_present is self._has_session, self.client_id
                self._has_session = True
                self.connection_count += 1
                if before is not None:
                    for packet in await before.expect_closed():
                        await self.receive(before, packet)  # The response reaches no client.
                await self.resume(client)
                await self._work(client)
                before = client

    async def _work(self, client: ByteClient) -> None:
        for _ in range(self._source.randint(*PACKETS_BEFORE_TAKEOVER)):
            if self.is_finished():
                await client.ping()
                return
            await self.receive(client, await client.receive())


class PublisherThatTakesOver(TakesOver, Publisher):
    """A publisher that repeats messages that were not acknowledged on any of its connections."""

    async def receive(self, client: ByteClient, packet: Received) -> None:
        if self.progress.published >= MESSAGES:
            self.stop()
        await super().receive(client, packet)


class SubscriberThatTakesOver(TakesOver, Subscriber):
    """A subscriber that remembers messages from all of its connections."""


@pytest.mark.statement(
    "MQTT-3.1.4-2", "MQTT-4.1.0-1", "MQTT-4.3.3-1", "MQTT-4.3.3-2", "MQTT-4.4.0-1", "MQTT-4.6.0-1"
)
async def test_clients_that_take_over_from_themselves_lose_nothing_and_double_nothing(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage()
    seed = int(os.environ.get("ONCEGATE_TEST_SEED") or time.time_ns() % 1_000_000)
    print(f"ONCEGATE_TEST_SEED={seed}")
    source = random.Random(seed)  # noqa: S311
    port, progress = stage.broker.port, Progress()

    def dice() -> random.Random:
        return random.Random(source.random())  # noqa: S311

    subscribers = [
        SubscriberThatTakesOver(port, name, dice(), progress, filters=filters)
        for name, filters in (("twice", (("load/#", 2),)), ("once", (("load/#", 1),)))
    ]
    publisher = PublisherThatTakesOver(port, "one", dice(), progress, window=20)
    async with asyncio.timeout(DEADLINE_SECONDS), asyncio.TaskGroup() as tasks:
        for subscriber in subscribers:
            tasks.create_task(subscriber.run())
        for subscriber in subscribers:
            await subscriber.is_subscribed.wait()
        await publisher.run()
        progress.expected = {"load/end/1": 1, "load/end/2": 1} | {
            publisher.topic_of(qos): publisher.published[qos] for qos in (1, 2)
        }
        for qos in (1, 2):
            await stage.deliver(f"load/end/{qos}", b"1", qos=qos)
    # A gap, a duplicate or a wrong order would have failed the task that noticed it.
    for client in (publisher, *subscribers):
        assert client.connection_count > TAKEOVERS_MIN
