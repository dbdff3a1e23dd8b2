"""Independent MQTT software for the tests: Debian's Mosquitto as the broker, Eclipse's paho as a
durable subscriber."""

import asyncio
import getpass
import json
import subprocess
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from tests.peers.paho_thread import disconnect
from tests.system.broker_process import free_port

MOSQUITTO = "/usr/sbin/mosquitto"
DEADLINE_SECONDS = 60.0


class Mosquitto:
    """Debian's Mosquitto as a process.

    `in_flight` limits the unacknowledged messages of a client; 0 means unlimited, and Mosquitto's
    own default is 20. With `persists` Mosquitto saves its sessions when it stops and loads them
    when it starts.
    """

    def __init__(self, directory: Path, *, in_flight: int = 0, persists: bool = False) -> None:
        self.port = free_port()
        self._directory = directory
        self._in_flight = in_flight
        self._persists = persists
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        configuration = self._directory / "mosquitto.conf"
        configuration.write_text(
            f"listener {self.port} 127.0.0.1\nallow_anonymous true\n"
            f"persistence {str(self._persists).lower()}\n"
            f"persistence_location {self._directory}/\n"
            # When started by root, Mosquitto would switch to a user who may not write to this
            # directory.
            f"user {getpass.getuser()}\n"
            f"max_queued_messages 0\nmax_inflight_messages {self._in_flight}\n"
        )
        self._process = subprocess.Popen(
            [MOSQUITTO, "-c", str(configuration)],
            stdout=subprocess.DEVNULL,
            stderr=(self._directory / "mosquitto.log").open("ab"),
        )

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(DEADLINE_SECONDS)
            self._process = None

    async def wait_until_ready(self) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS):
            while True:
                try:
                    _, writer = await asyncio.open_connection("127.0.0.1", self.port)
                except OSError:
                    await asyncio.sleep(0.01)  # Polled: a process sends no event when it listens.
                    continue
                writer.close()
                await writer.wait_closed()
                return


class Subscriber:
    """Collects every message under `sensors/#` at QoS 2 in order of arrival; the session is
    persistent."""

    def __init__(self, port: int, client_id: str = "durable-subscriber") -> None:
        self.port = port
        self.messages: list[tuple[str, bytes]] = []
        self._more = threading.Condition()
        self._subscribed = threading.Event()
        self._client = paho.Client(CallbackAPIVersion.VERSION2, client_id, clean_session=False)
        self._client.on_connect = self._on_connect
        self._client.on_subscribe = lambda *_: self._subscribed.set()
        self._client.on_message = self._on_message
        self._client.reconnect_delay_set(1, 1)
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()
        assert self._subscribed.wait(DEADLINE_SECONDS), "the subscription was not acknowledged"

    def close(self) -> None:
        disconnect(self._client)

    def publish(self, topic: str, payload: str) -> None:
        self._client.publish(topic, payload)

    def wait_for(self, count: int, seconds: float = DEADLINE_SECONDS) -> None:
        with self._more:
            arrived = self._more.wait_for(lambda: len(self.messages) >= count, seconds)
        assert arrived, f"{len(self.messages)} of {count} messages after {seconds} s"

    async def arrival_of(self, count: int, seconds: float = DEADLINE_SECONDS) -> None:
        await asyncio.to_thread(self.wait_for, count, seconds)

    async def wait_until(self, condition: Callable[[], bool]) -> None:
        """Wait until the condition holds. The condition is evaluated after each message."""
        await asyncio.to_thread(self._wait_until, condition)

    def _wait_until(self, condition: Callable[[], bool]) -> None:
        with self._more:
            assert self._more.wait_for(condition, DEADLINE_SECONDS), self.messages

    async def settled(self) -> None:
        """Wait until every message that the broker had for this subscriber before the call has
        arrived."""
        mark = ("sensors/settled", f"settled {len(self.messages)}".encode())
        self._client.publish(*mark, qos=2)
        await self.wait_until(lambda: mark in self.messages)
        self.messages.remove(mark)

    def records(self) -> list[dict[str, Any]]:
        """Return the first record of each payload, together with the message's topic."""
        return [
            {"topic": topic, **json.loads(payload)[0]} for topic, payload in list(self.messages)
        ]

    def _on_connect(self, client: paho.Client, *_: object) -> None:
        client.subscribe("sensors/#", qos=2)

    def _on_message(self, client: object, data: object, message: paho.MQTTMessage) -> None:
        with self._more:
            self.messages.append((message.topic, bytes(message.payload)))
            self._more.notify_all()
