"""paho-mqtt, the client library most Python programs use, with its own network thread."""

import queue
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

import paho.mqtt.client as paho
import pytest
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from tests.system.stage import Stage

DEADLINE_SECONDS = 10.0


class PahoClient:
    """A paho client whose callbacks fill queues that a test waits on."""

    def __init__(self, stage: Stage, name: str, **arguments: Any) -> None:
        self.connected: queue.Queue[tuple[bool, bool]] = queue.Queue()
        self.disconnected = threading.Event()
        self.subscribed: queue.Queue[list[int]] = queue.Queue()
        self.messages: queue.Queue[paho.MQTTMessage] = queue.Queue()
        arguments.setdefault("clean_session", True)
        self.client = paho.Client(
            CallbackAPIVersion.VERSION2, client_id=stage.client_id(name), **arguments
        )
        self._port = stage.broker.port
        self.client.on_connect = lambda _c, _u, flags, code, _p: self.connected.put(
            (not code.is_failure, flags.session_present)
        )
        self.client.on_disconnect = lambda *_: self.disconnected.set()
        self.client.on_subscribe = lambda _c, _u, _m, codes, _p: self.subscribed.put(
            [code.value for code in codes]
        )
        self.client.on_message = lambda _c, _u, message: self.messages.put(message)

    def start(self) -> bool:
        """Connect and run the network thread; whether the broker had the session."""
        self.client.connect("127.0.0.1", self._port, keepalive=30)
        self.client.loop_start()
        accepted, session_present = self.connected.get(timeout=DEADLINE_SECONDS)
        assert accepted
        return session_present

    def subscribe(self, topic_filter: str, qos: int) -> list[int]:
        """The granted QoS of one filter."""
        self.client.subscribe(topic_filter, qos)
        return self.subscribed.get(timeout=DEADLINE_SECONDS)

    def publish(self, topic: str, payload: bytes, *, qos: int, retain: bool = False) -> None:
        """Publish, and wait until every step of the QoS is done."""
        self.client.publish(topic, payload, qos, retain).wait_for_publish(DEADLINE_SECONDS)

    def take(self) -> paho.MQTTMessage:
        """The next message."""
        return self.messages.get(timeout=DEADLINE_SECONDS)

    def stop(self) -> None:
        """Send DISCONNECT and end the network thread."""
        self.client.disconnect()
        self.client.loop_stop()

    def cut(self) -> None:
        """Reset the connection without a DISCONNECT; paho must not come back by itself."""
        self.client.loop_stop()
        connection = self.client.socket()
        assert isinstance(connection, socket.socket)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.close()


@pytest.fixture
def new_client(stage: Stage) -> Iterator[Callable[..., PahoClient]]:
    """Makes paho clients that are stopped when the test is over."""
    clients: list[PahoClient] = []

    def make(name: str, **arguments: Any) -> PahoClient:
        clients.append(PahoClient(stage, name, **arguments))
        return clients[-1]

    yield make
    for client in clients:
        client.stop()


@pytest.mark.parametrize("protocol", [MQTTProtocolVersion.MQTTv31, MQTTProtocolVersion.MQTTv311])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_paho_publishes_and_receives_at_every_qos(
    stage: Stage,
    new_client: Callable[..., PahoClient],
    qos: int,
    protocol: MQTTProtocolVersion,
) -> None:
    client = new_client("paho", protocol=protocol)
    client.start()
    assert client.subscribe(stage.topic("x/#"), qos) == [qos]
    for number in range(50):
        client.publish(stage.topic(f"x/{number}"), b"%d" % number, qos=qos)
    messages = [client.take() for _ in range(50)]
    assert [each.payload for each in messages] == [b"%d" % number for number in range(50)]
    assert {each.qos for each in messages} == {qos}


def test_paho_comes_back_to_its_persistent_session_and_gets_what_waited(
    stage: Stage, new_client: Callable[..., PahoClient]
) -> None:
    away = new_client("away", clean_session=False)
    assert away.start() is False
    away.subscribe(stage.topic("x"), 2)
    away.stop()
    publisher = new_client("publisher")
    publisher.start()
    for number in range(30):
        publisher.publish(stage.topic("x"), b"%d" % number, qos=1 + number % 2)
    away = new_client("away", clean_session=False)
    assert away.start() is True
    assert sorted(int(away.take().payload) for _ in range(30)) == list(range(30))


def test_paho_sees_retained_messages_and_clears_them(
    stage: Stage, new_client: Callable[..., PahoClient]
) -> None:
    client = new_client("paho")
    client.start()
    client.publish(stage.topic("x"), b"retained", qos=1, retain=True)
    client.subscribe(stage.topic("x"), 1)
    message = client.take()
    assert (message.payload, message.retain) == (b"retained", True)
    client.publish(stage.topic("x"), b"", qos=1, retain=True)
    assert (client.take().payload, message.retain) == (b"", True)
    late = new_client("late")
    late.start()
    late.subscribe(stage.topic("x"), 1)
    client.publish(stage.topic("x"), b"live", qos=1)
    assert late.take().payload == b"live"


def test_the_will_of_a_paho_client_is_published_when_its_connection_is_cut(
    stage: Stage, new_client: Callable[..., PahoClient]
) -> None:
    watcher = new_client("watcher")
    watcher.start()
    watcher.subscribe(stage.topic("will"), 2)
    mortal = new_client("mortal")
    mortal.client.will_set(stage.topic("will"), b"gone", 2)
    mortal.start()
    mortal.cut()
    assert watcher.take().payload == b"gone"


def test_a_second_paho_client_with_the_same_identifier_takes_over(
    stage: Stage, new_client: Callable[..., PahoClient]
) -> None:
    first = new_client("same", reconnect_on_failure=False)
    first.start()
    second = new_client("same", reconnect_on_failure=False)
    second.start()
    assert first.disconnected.wait(DEADLINE_SECONDS)
    second.subscribe(stage.topic("x"), 1)
    second.publish(stage.topic("x"), b"fine", qos=1)
    assert second.take().payload == b"fine"
