"""A paho-mqtt client for tests, with its own network thread: its callbacks fill queues."""

import queue
import socket
import struct
from collections.abc import Callable, Iterator
from typing import Any

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.subscribeoptions import SubscribeOptions

from tests.contract.mqtt_client.foreign_client import DEADLINE_SECONDS
from tests.peers.paho_thread import disconnect
from tests.system.stage import Stage


def connect_properties(**values: Any) -> Properties:
    """Return the properties of a CONNECT of MQTT 5.0, from paho's names."""
    return _properties(PacketTypes.CONNECT, values)


def publish_properties(**values: Any) -> Properties:
    """Return the properties of a PUBLISH of MQTT 5.0, from paho's names."""
    return _properties(PacketTypes.PUBLISH, values)


def will_properties(**values: Any) -> Properties:
    """Return the properties of a will of MQTT 5.0, from paho's names."""
    return _properties(PacketTypes.WILLMESSAGE, values)


def subscribe_properties(**values: Any) -> Properties:
    """Return the properties of a SUBSCRIBE of MQTT 5.0, from paho's names."""
    return _properties(PacketTypes.SUBSCRIBE, values)


def _properties(packet_type: int, values: dict[str, Any]) -> Properties:
    properties = Properties(packet_type)  # type: ignore[no-untyped-call]
    for name, value in values.items():
        setattr(properties, name, value)
    return properties


def properties_of(carrier: Properties | None) -> dict[str, Any]:
    """Return the properties of a packet as a dictionary. Binary data are in hexadecimal digits."""
    assert carrier is not None, "expected a packet of MQTT 5.0"
    values: dict[str, Any] = carrier.json()  # type: ignore[no-untyped-call]
    return values


class PahoClient:
    """A paho client, of MQTT 3.1.1 unless it is given another protocol."""

    def __init__(
        self,
        client_id: str,
        port: int,
        *,
        protocol: MQTTProtocolVersion = MQTTProtocolVersion.MQTTv311,
        **arguments: Any,
    ) -> None:
        # Two flags of each CONNACK: the broker accepted; the broker had the session.
        self.connected: queue.Queue[tuple[bool, bool]] = queue.Queue()
        # The reason code for each disconnection.
        self.disconnected: queue.Queue[int] = queue.Queue()
        self.subscribed: queue.Queue[list[int]] = queue.Queue()
        self.messages: queue.Queue[paho.MQTTMessage] = queue.Queue()
        self.connack_properties: Properties | None = None
        if protocol != MQTTProtocolVersion.MQTTv5:
            arguments.setdefault("clean_session", True)
        self.client = paho.Client(
            CallbackAPIVersion.VERSION2,
            client_id=client_id,
            protocol=protocol,
            **arguments,
        )
        self._port = port
        self.client.on_connect = self._on_connect
        self.client.on_disconnect = lambda _c, _u, _f, code, _p: self.disconnected.put(code.value)
        self.client.on_subscribe = lambda _c, _u, _m, codes, _p: self.subscribed.put(
            [code.value for code in codes]
        )
        self.client.on_message = lambda _c, _u, message: self.messages.put(message)

    def _on_connect(
        self, _client: Any, _userdata: Any, flags: Any, code: Any, properties: Properties | None
    ) -> None:
        self.connack_properties = properties
        self.connected.put((not code.is_failure, flags.session_present))

    def start(self, **arguments: Any) -> bool:
        """Connect and run the network thread. Return True if the broker had the session."""
        self.client.connect("127.0.0.1", self._port, keepalive=30, **arguments)
        self.client.loop_start()
        accepted, session_present = self.connected.get(timeout=DEADLINE_SECONDS)
        assert accepted
        return session_present

    def subscribe(
        self, topic_filter: str, how: int | SubscribeOptions, properties: Properties | None = None
    ) -> list[int]:
        """Subscribe with a QoS, or with the options of MQTT 5.0. Return the granted QoS."""
        if isinstance(how, SubscribeOptions):
            self.client.subscribe(topic_filter, options=how, properties=properties)
        else:
            self.client.subscribe(topic_filter, how, properties=properties)
        return self.subscribed.get(timeout=DEADLINE_SECONDS)

    def publish(
        self,
        topic: str,
        payload: bytes,
        *,
        qos: int,
        retain: bool = False,
        properties: Properties | None = None,
    ) -> None:
        """Publish, and wait until every step of the QoS is done."""
        information = self.client.publish(topic, payload, qos, retain, properties)
        information.wait_for_publish(DEADLINE_SECONDS)
        assert information.is_published()

    def take(self) -> paho.MQTTMessage:
        """Return the next message."""
        return self.messages.get(timeout=DEADLINE_SECONDS)

    def stop(self) -> None:
        """Send DISCONNECT and end the network thread."""
        disconnect(self.client)

    def cut(self) -> None:
        """Reset the connection without a DISCONNECT. paho must not be configured to reconnect."""
        connection = self.client.socket()
        assert connection is not None
        # For WebSocket the socket is a wrapper that has no options.
        with socket.fromfd(connection.fileno(), socket.AF_INET, socket.SOCK_STREAM) as same:
            same.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            # The network thread takes this for a close by the broker, and closes the socket as
            # well.
            same.shutdown(socket.SHUT_RD)
        # If the thread stopped in its CONNACK callback, it would never close the socket.
        self.disconnected.get(timeout=DEADLINE_SECONDS)
        self.client.loop_stop()


@pytest.fixture
def new_paho_client(stage: Stage) -> Iterator[Callable[..., PahoClient]]:
    """Return a function that creates paho clients, which are stopped after the test."""
    clients: list[PahoClient] = []

    def make(name: str, **arguments: Any) -> PahoClient:
        client_id = stage.client_id(name) if name else ""
        clients.append(PahoClient(client_id, stage.broker.port, **arguments))
        return clients[-1]

    yield make
    for client in clients:
        client.stop()
