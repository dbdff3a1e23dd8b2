"""The kinds of foreign clients with which every scenario is run, and the clients of one test."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from tests.contract.mqtt_client.adapters import AiomqttAdapter, GmqttAdapter, PahoAdapter
from tests.contract.mqtt_client.foreign_client import (
    ForeignClient,
    Level,
    Part,
    Will,
)
from tests.contract.mqtt_client.mosquitto_adapter import MosquittoAdapter
from tests.contract.mqtt_client.mqttjs_client import MqttJsClient, MqttJsProgram, mqttjs_program
from tests.system.stage import Stage

PAHO, GMQTT, AIOMQTT = "paho", "gmqtt", "aiomqtt"
MOSQUITTO, MQTTJS = "mosquitto", "MQTT.js"


@dataclass(frozen=True)
class Kind:
    """A library with one of its MQTT versions, over TCP or WebSocket."""

    library: str
    level: Level
    is_websocket: bool = False

    def __str__(self) -> str:
        version = self.level.name.removeprefix("MQTT_").replace("_", ".")
        return f"{self.library} {version}{' WebSocket' if self.is_websocket else ''}"


KINDS = [
    Kind(PAHO, Level.MQTT_3_1),
    Kind(PAHO, Level.MQTT_3_1_1),
    Kind(PAHO, Level.MQTT_5_0),
    Kind(PAHO, Level.MQTT_5_0, is_websocket=True),
    Kind(GMQTT, Level.MQTT_3_1_1),
    Kind(GMQTT, Level.MQTT_5_0),
    Kind(AIOMQTT, Level.MQTT_3_1_1),
    Kind(AIOMQTT, Level.MQTT_5_0),
    Kind(MOSQUITTO, Level.MQTT_3_1),
    Kind(MOSQUITTO, Level.MQTT_3_1_1),
    Kind(MOSQUITTO, Level.MQTT_5_0),
    Kind(MQTTJS, Level.MQTT_3_1_1),
    Kind(MQTTJS, Level.MQTT_5_0),
    Kind(MQTTJS, Level.MQTT_3_1_1, is_websocket=True),
    Kind(MQTTJS, Level.MQTT_5_0, is_websocket=True),
]
# mosquitto_sub reconnects by itself, and its DISCONNECT of MQTT 5.0 asks for the will.
LIBRARIES = [kind for kind in KINDS if kind.library != MOSQUITTO]
OF_VERSION_5 = [kind for kind in KINDS if kind.level == Level.MQTT_5_0]
# Kinds that reconnect by themselves and resume the messages they had in flight.
RESUMING = [
    kind for kind in KINDS if kind.library in (PAHO, MQTTJS) and kind.level > Level.MQTT_3_1
]


class Cast:
    """Foreign clients of one kind in one test."""

    def __init__(
        self, kind: Kind, stage: Stage, websocket_port: int, program: MqttJsProgram | None
    ) -> None:
        self.kind = kind
        self._stage = stage
        # Several kinds can be in one test.
        self._prefix = str(KINDS.index(kind))
        self._port = websocket_port if kind.is_websocket else stage.broker.port
        self._program = program
        self._clients: list[ForeignClient] = []

    def topic(self, name: str) -> str:
        """Return a topic that no other test and no other kind uses."""
        return self._stage.topic(f"{self._prefix}/{name}")

    def client(
        self,
        name: str,
        *,
        subscription: tuple[str, int] | None = None,
        is_kept: bool = False,
        comes_back: bool = False,
        will: Will | None = None,
    ) -> ForeignClient:
        """Return a client that has not started. The same name means the same client identifier."""
        part = Part(
            self._stage.client_id(self._prefix + name),
            self.kind.level,
            self._port,
            is_websocket=self.kind.is_websocket,
            subscription=subscription,
            is_kept=is_kept,
            comes_back=comes_back,
            will=will,
        )
        self._clients.append(self._play(part))
        return self._clients[-1]

    async def started(
        self, name: str, subscription: tuple[str, int] | None = None
    ) -> ForeignClient:
        """Return a connected client whose session is not kept."""
        client = self.client(name, subscription=subscription)
        await client.start()
        return client

    async def settle(self, name: str) -> None:
        """Wait until the broker has every acknowledgement of this client."""
        await self._stage.settle(self._prefix + name)

    async def ended(self, name: str) -> None:
        """Wait until the broker no longer has a session for this client."""
        await self._stage.ended(self._prefix + name)

    def _play(self, part: Part) -> ForeignClient:
        match self.kind.library:
            case "paho":
                return PahoAdapter(part)
            case "gmqtt":
                return GmqttAdapter(part)
            case "aiomqtt":
                return AiomqttAdapter(part)
            case "mosquitto":
                return MosquittoAdapter(part)
        assert self._program is not None
        return MqttJsClient(self._program, part)

    async def close(self) -> None:
        """Stop every client that the test started."""
        await asyncio.gather(*[client.stop() for client in self._clients])


@asynccontextmanager
async def casts_of(
    kinds: Sequence[Kind], stage: Stage, websocket_port: int
) -> AsyncIterator[list[Cast]]:
    """Yield a cast of each kind for the duration of the block."""
    async with AsyncExitStack() as exits:
        program = None
        if any(kind.library == MQTTJS for kind in kinds):
            program = await exits.enter_async_context(mqttjs_program())
        casts = [Cast(kind, stage, websocket_port, program) for kind in kinds]
        for cast in casts:
            exits.push_async_callback(cast.close)
        yield casts
