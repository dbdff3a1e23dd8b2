"""An MQTT client that stores what it receives, in a session that outlasts the broker's restarts."""

import time
from collections import Counter
from collections.abc import Callable

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from tests.peers.paho_thread import disconnect

DEADLINE_SECONDS = 60.0


class Listener:
    """A subscriber at QoS 2. Without a `client_id` its session ends with its connection."""

    def __init__(self, port: int, topic: str, client_id: str = "") -> None:
        self.retained: dict[str, bytes] = {}
        """Messages that the broker had stored, by topic."""
        self.payloads: dict[str, list[bytes]] = {}
        """Payloads of all other messages by topic, in the order of their arrival."""
        self.is_subscribed = False
        self._topic = topic
        self._client = paho.Client(
            CallbackAPIVersion.VERSION2, client_id=client_id, clean_session=not client_id
        )
        self._client.reconnect_delay_set(1, 1)
        self._client.on_connect = self._subscribe
        self._client.on_subscribe = self._subscribed
        self._client.on_message = self._receive
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        self.wait_until(lambda: self.is_subscribed)

    def close(self) -> None:
        disconnect(self._client)

    def publish(self, topic: str, payload: str) -> None:
        """Publish at QoS 1, and wait for the acknowledgement."""
        self._client.publish(topic, payload, 1).wait_for_publish(DEADLINE_SECONDS)

    def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition holds."""
        deadline = time.monotonic() + DEADLINE_SECONDS
        while not condition():
            counts = Counter({topic: len(each) for topic, each in self.payloads.items()})
            assert time.monotonic() < deadline, (sorted(self.retained), counts)
            time.sleep(0.05)

    def _subscribe(self, *_: object) -> None:
        self._client.subscribe(self._topic, 2)

    def _subscribed(self, *_: object) -> None:
        self.is_subscribed = True

    def _receive(self, _client: paho.Client, _data: object, message: paho.MQTTMessage) -> None:
        if message.retain:
            self.retained[message.topic] = bytes(message.payload)
        else:
            self.payloads.setdefault(message.topic, []).append(bytes(message.payload))
