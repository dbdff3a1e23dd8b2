"""gmqtt, the asyncio client that the bridge uses, here as any other program would use it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import gmqtt  # type: ignore[import-untyped]
import pytest
import pytest_asyncio
from gmqtt.mqtt.constants import MQTTv311  # type: ignore[import-untyped]

from tests.system.stage import Stage

DEADLINE_SECONDS = 10.0


@dataclass(frozen=True)
class Message:
    """What gmqtt gave to on_message."""

    topic: str
    payload: bytes
    qos: int
    retain: bool


class GmqttClient:
    """A gmqtt client whose callbacks fill queues that a test waits on."""

    def __init__(self, stage: Stage, name: str, **arguments: Any) -> None:
        self.messages: asyncio.Queue[Message] = asyncio.Queue()
        self.subscribed = asyncio.Event()
        self.disconnected = asyncio.Event()
        self.session_present = False
        self.client = gmqtt.Client(stage.client_id(name), **arguments)
        # Reconnecting by itself would fight a takeover for ever.
        self.client.set_config({"reconnect_retries": 0})
        self._port = stage.broker.port
        self.client.on_message = self._on_message
        self.client.on_connect = self._on_connect
        self.client.on_subscribe = lambda *_: self.subscribed.set()
        self.client.on_disconnect = lambda *_, **__: self.disconnected.set()

    def _on_connect(self, _client: Any, flags: int, _result: int, _properties: Any) -> None:
        self.session_present = bool(flags & 1)

    async def _on_message(
        self, _client: Any, topic: str, payload: bytes, qos: int, properties: dict[str, Any]
    ) -> int:
        await self.messages.put(Message(topic, payload, qos, bool(properties["retain"])))
        return 0

    async def start(self) -> bool:
        """Connect; whether the broker had the session."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            await self.client.connect("127.0.0.1", self._port, version=MQTTv311)
        return self.session_present

    async def subscribe(self, topic_filter: str, qos: int) -> None:
        """Subscribe and await the SUBACK."""
        self.subscribed.clear()
        self.client.subscribe(topic_filter, qos)
        async with asyncio.timeout(DEADLINE_SECONDS):
            await self.subscribed.wait()

    async def take(self) -> Message:
        """The next message."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            return await self.messages.get()

    async def stop(self) -> None:
        """Send DISCONNECT."""
        if self.client.is_connected:
            await self.client.disconnect()

    def cut(self) -> None:
        """End the connection without a DISCONNECT."""
        self.client._connection._transport.abort()


@pytest_asyncio.fixture
async def new_client(stage: Stage) -> AsyncIterator[Callable[..., GmqttClient]]:
    """Makes gmqtt clients that are stopped when the test is over."""
    clients: list[GmqttClient] = []

    def make(name: str, **arguments: Any) -> GmqttClient:
        clients.append(GmqttClient(stage, name, **arguments))
        return clients[-1]

    yield make
    for client in clients:
        await client.stop()


@pytest.mark.parametrize("qos", [0, 1, 2])
async def test_gmqtt_publishes_and_receives_at_every_qos(
    stage: Stage, new_client: Callable[..., GmqttClient], qos: int
) -> None:
    client = new_client("gmqtt")
    await client.start()
    await client.subscribe(stage.topic("x/#"), qos)
    for number in range(50):
        client.client.publish(stage.topic(f"x/{number}"), b"%d" % number, qos=qos)
    messages = [await client.take() for _ in range(50)]
    assert [each.payload for each in messages] == [b"%d" % number for number in range(50)]
    assert {each.qos for each in messages} == {qos}


async def test_gmqtt_comes_back_to_its_persistent_session_and_gets_what_waited(
    stage: Stage, new_client: Callable[..., GmqttClient]
) -> None:
    away = new_client("away", clean_session=False)
    assert await away.start() is False
    await away.subscribe(stage.topic("x"), 2)
    await away.stop()
    await stage.deliver(stage.topic("x"), *[b"%d" % number for number in range(30)])
    away = new_client("away", clean_session=False)
    assert await away.start() is True
    assert [int((await away.take()).payload) for _ in range(30)] == list(range(30))


async def test_gmqtt_sees_retained_messages(
    stage: Stage, new_client: Callable[..., GmqttClient]
) -> None:
    await stage.deliver(stage.topic("x"), b"retained", retain=True)
    client = new_client("gmqtt")
    await client.start()
    await client.subscribe(stage.topic("x"), 1)
    message = await client.take()
    assert (message.payload, message.retain) == (b"retained", True)


async def test_the_will_of_a_gmqtt_client_is_published_when_its_connection_is_cut(
    stage: Stage, new_client: Callable[..., GmqttClient]
) -> None:
    watcher = new_client("watcher")
    await watcher.start()
    await watcher.subscribe(stage.topic("will"), 2)
    will = gmqtt.Message(stage.topic("will"), b"gone", qos=2)
    mortal = new_client("mortal", will_message=will)
    await mortal.start()
    mortal.cut()
    message = await watcher.take()
    assert (message.payload, message.qos) == (b"gone", 2)


async def test_a_second_gmqtt_client_with_the_same_identifier_takes_over(
    stage: Stage, new_client: Callable[..., GmqttClient]
) -> None:
    first = new_client("same")
    await first.start()
    second = new_client("same")
    await second.start()
    async with asyncio.timeout(DEADLINE_SECONDS):
        await first.disconnected.wait()
    await second.subscribe(stage.topic("x"), 1)
    second.client.publish(stage.topic("x"), b"fine", qos=1)
    assert (await second.take()).payload == b"fine"
