"""Python libraries as foreign clients. Each adapter maps a scenario's steps to one library."""

import asyncio
import contextlib
import socket
from functools import partial
from typing import Any

import aiomqtt
import gmqtt  # type: ignore[import-untyped]
import pytest
from paho.mqtt.enums import MQTTProtocolVersion
from paho.mqtt.reasoncodes import ReasonCode

from tests.contract.mqtt_client.foreign_client import DEADLINE_SECONDS, Level, Message, Part
from tests.contract.mqtt_client.gmqtt_client import GmqttClient
from tests.contract.mqtt_client.paho_client import (
    PahoClient,
    connect_properties,
    will_properties,
)


class PahoAdapter:
    """An adapter for paho-mqtt, which has a network thread and blocking calls."""

    def __init__(self, part: Part) -> None:
        self._part = part
        arguments: dict[str, Any] = {"reconnect_on_failure": part.comes_back}
        if part.level != Level.MQTT_5_0:
            arguments["clean_session"] = not part.is_kept
        self._paho = PahoClient(
            part.client_id,
            part.port,
            protocol=MQTTProtocolVersion(part.level),
            transport="websockets" if part.is_websocket else "tcp",
            **arguments,
        )
        if part.will is not None:
            properties = None
            if part.will.delay_seconds:
                properties = will_properties(WillDelayInterval=part.will.delay_seconds)
            will = (part.will.topic, part.will.payload, part.will.qos)
            self._paho.client.will_set(*will, properties=properties)

    async def start(self) -> bool | None:
        arguments: dict[str, Any] = {}
        if self._part.level == Level.MQTT_5_0:
            expiry = connect_properties(SessionExpiryInterval=self._part.session_expiry_seconds)
            arguments = {"clean_start": not self._part.is_kept, "properties": expiry}
        session_present = await asyncio.to_thread(partial(self._paho.start, **arguments))
        if self._part.subscription is not None and not session_present:
            granted = await asyncio.to_thread(self._paho.subscribe, *self._part.subscription)
            assert granted == [self._part.subscription[1]]
        # CONNACK of MQTT 3.1 has no session present flag.
        return None if self._part.level == Level.MQTT_3_1 else session_present

    async def publish(self, topic: str, payload: bytes, *, qos: int, retain: bool = False) -> None:
        self._paho.client.publish(topic, payload, qos, retain)

    async def take(self) -> Message:
        message = await asyncio.to_thread(self._paho.take)
        return Message(message.topic, bytes(message.payload), message.qos, message.retain)

    async def lost(self) -> int | None:
        code = await asyncio.to_thread(self._paho.disconnected.get, timeout=DEADLINE_SECONDS)
        return code if self._part.level == Level.MQTT_5_0 else None

    async def cut(self) -> None:
        await asyncio.to_thread(self._paho.cut)

    async def stop(self) -> None:
        await asyncio.to_thread(self._paho.stop)


class GmqttAdapter:
    """An adapter for gmqtt, a library for asyncio."""

    def __init__(self, part: Part) -> None:
        self._part = part
        arguments: dict[str, Any] = {"clean_session": not part.is_kept}
        if part.level == Level.MQTT_5_0:
            arguments["session_expiry_interval"] = part.session_expiry_seconds
        if part.will is not None:
            delay = (
                {"will_delay_interval": part.will.delay_seconds} if part.will.delay_seconds else {}
            )
            arguments["will_message"] = gmqtt.Message(
                part.will.topic, part.will.payload, qos=part.will.qos, **delay
            )
        self._gmqtt = GmqttClient(part.client_id, part.port, version=part.level, **arguments)

    async def start(self) -> bool:
        session_present = await self._gmqtt.start()
        if self._part.subscription is not None and not session_present:
            granted = await self._gmqtt.subscribe(*self._part.subscription)
            assert granted == (self._part.subscription[1],)
        return session_present

    async def publish(self, topic: str, payload: bytes, *, qos: int, retain: bool = False) -> None:
        self._gmqtt.client.publish(topic, payload, qos=qos, retain=retain)

    async def take(self) -> Message:
        message = await self._gmqtt.take()
        return Message(message.topic, message.payload, message.qos, message.retain)

    async def lost(self) -> int | None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            await self._gmqtt.disconnected.wait()
        packet = self._gmqtt.disconnect_packet
        return packet[0] if packet else None

    async def cut(self) -> None:
        self._gmqtt.cut()

    async def stop(self) -> None:
        await self._gmqtt.stop()


class AiomqttAdapter:
    """An adapter for aiomqtt, the asyncio front end of paho-mqtt.

    aiomqtt does not report whether the broker had a session.
    """

    def __init__(self, part: Part) -> None:
        self._part = part
        self._is_open = False
        arguments: dict[str, Any] = {}
        if part.level == Level.MQTT_5_0:
            expiry = connect_properties(SessionExpiryInterval=part.session_expiry_seconds)
            arguments = {"clean_start": not part.is_kept, "properties": expiry}
        else:
            arguments["clean_session"] = not part.is_kept
        if part.will is not None:
            properties = None
            if part.will.delay_seconds:
                properties = will_properties(WillDelayInterval=part.will.delay_seconds)
            arguments["will"] = aiomqtt.Will(
                part.will.topic, part.will.payload, part.will.qos, properties=properties
            )
        self._aiomqtt = aiomqtt.Client(
            "127.0.0.1",
            part.port,
            identifier=part.client_id,
            protocol=aiomqtt.ProtocolVersion(part.level),
            transport="websockets" if part.is_websocket else "tcp",
            timeout=DEADLINE_SECONDS,
            **arguments,
        )

    async def start(self) -> None:
        await self._aiomqtt.__aenter__()
        self._is_open = True
        if self._part.subscription is not None:
            await self._aiomqtt.subscribe(*self._part.subscription)

    async def publish(self, topic: str, payload: bytes, *, qos: int, retain: bool = False) -> None:
        await self._aiomqtt.publish(topic, payload, qos, retain)

    async def take(self) -> Message:
        async with asyncio.timeout(DEADLINE_SECONDS):
            message = await anext(self._aiomqtt.messages)
        assert isinstance(message.payload, bytes)
        return Message(str(message.topic), message.payload, message.qos, message.retain)

    async def lost(self) -> int | None:
        with pytest.raises(aiomqtt.MqttError) as caught:
            await self.take()
        cause = caught.value.__cause__
        assert isinstance(cause, aiomqtt.MqttCodeError)
        assert isinstance(cause.rc, ReasonCode)
        return cause.rc.value if self._part.level == Level.MQTT_5_0 else None

    async def cut(self) -> None:
        connection = self._aiomqtt._client.socket()
        assert connection is not None
        # For WebSocket the socket is a wrapper that cannot shut down.
        with socket.fromfd(connection.fileno(), socket.AF_INET, socket.SOCK_STREAM) as same:
            same.shutdown(socket.SHUT_RDWR)

    async def stop(self) -> None:
        if self._is_open:
            self._is_open = False
            with contextlib.suppress(aiomqtt.MqttError):
                await self._aiomqtt.__aexit__(None, None, None)
