"""Receives commands for boards from the broker, and publishes the boards' answers (MQTT 5.0).

The commander has its own MQTT connection, separate from the connection for readings. The session is
clean and the subscription has QoS 0, so the broker does not queue commands while the bridge is
offline. Answers are only published to topics below `answers/`. Without this limit, a client could
make the bridge publish to a topic to which the client itself may not publish.
"""

import asyncio
import json
import logging
from collections.abc import Callable
from typing import Any, Final

from gmqtt.mqtt.constants import MQTTv50  # type: ignore[import-untyped]
from gmqtt.mqtt.handler import MQTTConnectError  # type: ignore[import-untyped]

from firmware_bridge.mqtt.settings import BrokerSettings
from gateway.broker.wire.codes import FIRST_ERROR
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Publish, Subscribe, Subscription
from gateway.broker.wire.properties import Properties
from gateway.process.mqtt_client.backoff import Backoff
from gateway.process.mqtt_client.client import (
    SessionClient,
    close,
    connect,
    sentence_of,
    target_of,
)

logger = logging.getLogger(__name__)

COMMANDS: Final = "commands/+/+"
ANSWERS: Final = "answers/"
_VERSION: Final = 5
_PACKET_ID: Final = 1
_NO_RETAINED: Final = 2  # [MQTT5-3.8.3.1] Retain Handling: do not send retained commands

CarryOut = Callable[[str, str, bytes, Callable[[dict[str, str]], None]], None]
"""Function that carries out a command. Its arguments are the device, the command, the command's
argument, and the callback for the answer.
"""


class Commander:
    """The MQTT client that receives commands for boards and publishes the boards' answers.

    `run` continues until it is cancelled, and disconnects before it returns.
    """

    def __init__(self, settings: BrokerSettings, carry_out: CarryOut) -> None:
        self._settings = settings
        self._carry_out = carry_out
        self._fault: str | None = None
        self._unanswerable = 0

    async def run(self) -> None:
        """Connect, and reconnect when necessary, until cancelled."""
        backoff = Backoff()
        while True:
            fault = await self._connect_once(backoff)
            if fault != self._fault:
                logger.warning("no commands from the broker: %s", fault)
                self._fault = fault
            await backoff.wait()

    async def _connect_once(self, backoff: Backoff) -> str:
        client = SessionClient(f"{self._settings.client_id}-commands", clean_session=True)
        lost = asyncio.Event()
        refused = asyncio.Event()

        def on_message(_: Any, topic: str, payload: bytes, qos: int, properties: Any) -> int:
            self._receive(client, topic, payload, properties)
            return 0

        def on_subscribe(_: Any, mid: int, codes: tuple[int, ...], properties: Any) -> None:
            if not codes or codes[0] >= FIRST_ERROR:
                refused.set()
                lost.set()
            else:
                backoff.reset()
                self._fault = None
                logger.info("commands for boards are taken from %s", COMMANDS)

        client.on_message = on_message
        client.on_subscribe = on_subscribe
        client.on_disconnect = lambda *_: lost.set()
        if self._settings.username is not None:
            client.set_auth_credentials(self._settings.username, self._settings.password)
        try:
            to = self._settings
            target = target_of(to.host, to.port, to.tls, MQTTv50)
            await connect(client, lost, **target)
            subscription = Subscription(COMMANDS, 0, False, False, _NO_RETAINED)
            client.send_packet(encode(Subscribe(_PACKET_ID, [subscription]), _VERSION))
            await lost.wait()
        except (OSError, MQTTConnectError, TimeoutError) as error:
            return sentence_of(error, fix="[bridge] username and password_file")
        finally:
            await close(client)
        if refused.is_set():
            return f"it refuses {COMMANDS}: allow the bridge's user to subscribe to it"
        return "the connection was lost"

    def _receive(self, client: SessionClient, topic: str, payload: bytes, properties: Any) -> None:
        (response_topic,) = properties.get("response_topic") or [None]
        if isinstance(response_topic, bytes):
            response_topic = response_topic.decode(errors="replace")
        (correlation,) = properties.get("correlation_data") or [None]
        _, device, command = topic.split("/")
        if response_topic is None or not _may_be_answered_at(response_topic):
            # No client would receive an answer, so the command is not carried out.
            self._unanswerable += 1
            if self._unanswerable.bit_count() == 1:  # the 1st, 2nd, 4th and so on
                logger.warning(
                    "a command to %.64s is not carried out: its response topic is not below %s "
                    "(%d since the start)",
                    device,
                    ANSWERS,
                    self._unanswerable,
                )
            return

        def answer(outcome: dict[str, str]) -> None:
            body = json.dumps({"device": device, "command": command, **outcome}).encode()
            about = Properties()
            about.correlation_data = correlation
            packet = Publish(response_topic, body, 0, False, False, 0, about)
            client.send_packet(encode(packet, _VERSION))

        self._carry_out(device, command, payload, answer)


def _may_be_answered_at(topic: str) -> bool:
    return topic.startswith(ANSWERS) and not any(each in topic for each in "+#\0")
