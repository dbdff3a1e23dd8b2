"""A gmqtt client for tests: its callbacks fill queues that a test waits on."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

import gmqtt  # type: ignore[import-untyped]
import pytest_asyncio
from gmqtt.mqtt.constants import MQTTv50  # type: ignore[import-untyped]

from tests.contract.mqtt_client.foreign_client import DEADLINE_SECONDS
from tests.system.stage import Stage

# gmqtt reconnects while its number of failures, 0 at first, is at most this; -1 is unlimited.
NEVER_AGAIN = -2


@dataclass(frozen=True)
class Message:
    """The arguments of gmqtt's on_message. Each property of MQTT 5.0 is a list of its values."""

    topic: str
    payload: bytes
    qos: int
    retain: bool
    properties: dict[str, Any]


class GmqttClient:
    """A gmqtt client, of MQTT 5.0 unless it is given another version."""

    def __init__(
        self, client_id: str, port: int, *, version: int = MQTTv50, **arguments: Any
    ) -> None:
        self.messages: asyncio.Queue[Message] = asyncio.Queue()
        self.disconnected = asyncio.Event()
        self.disconnect_packet = b""
        # By payload: the value that on_message returns, the reason code of a PUBACK or PUBREC.
        self.reason_codes: dict[bytes, int] = {}
        self.connack_properties: dict[str, Any] = {}
        self.client = gmqtt.Client(client_id, **arguments)
        # With reconnects, two clients that take over from each other would never stop.
        self.client.set_config({"reconnect_retries": NEVER_AGAIN})
        self._port = port
        self._version = version
        self._session_present = False
        self._granted: asyncio.Queue[tuple[int, ...]] = asyncio.Queue()
        self.client.on_message = self._on_message
        self.client.on_connect = self._on_connect
        self.client.on_subscribe = lambda _c, _m, granted, _p: self._granted.put_nowait(granted)
        self.client.on_disconnect = self._on_disconnect

    def _on_connect(self, _client: Any, flags: int, _result: int, properties: Any) -> None:
        self._session_present = bool(flags & 1)
        self.connack_properties = properties

    def _on_disconnect(self, _client: Any, packet: bytes, *_: Any) -> None:
        # gmqtt calls this a second time, with an empty packet, when the connection is closed.
        self.disconnect_packet = self.disconnect_packet or packet
        self.disconnected.set()

    async def _on_message(
        self, _client: Any, topic: str, payload: bytes, qos: int, properties: dict[str, Any]
    ) -> int:
        retain = bool(properties["retain"])
        await self.messages.put(Message(topic, payload, qos, retain, properties))
        return self.reason_codes.get(payload, 0)

    async def start(self) -> bool:
        """Connect. Return True if the broker had the session."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            await self.client.connect("127.0.0.1", self._port, version=self._version)
        return self._session_present

    async def subscribe(self, topic_filter: str, qos: int, **options: Any) -> tuple[int, ...]:
        """Subscribe and await the SUBACK. Return its reason codes."""
        self.client.subscribe(topic_filter, qos, **options)
        async with asyncio.timeout(DEADLINE_SECONDS):
            return await self._granted.get()

    async def take(self) -> Message:
        """Return the next message."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            return await self.messages.get()

    async def stop(self) -> None:
        """Send DISCONNECT."""
        if self.client.is_connected:
            await self.client.disconnect()

    def cut(self) -> None:
        """Cut the connection without a DISCONNECT."""
        self.client._connection._transport.abort()


@pytest_asyncio.fixture
async def new_gmqtt_client(stage: Stage) -> AsyncIterator[Callable[..., GmqttClient]]:
    """Return a function that creates gmqtt clients, which are stopped after the test."""
    clients: list[GmqttClient] = []

    def make(name: str, **arguments: Any) -> GmqttClient:
        clients.append(GmqttClient(stage.client_id(name), stage.broker.port, **arguments))
        return clients[-1]

    yield make
    for client in clients:
        await client.stop()
