"""Debian's mosquitto_sub and mosquitto_pub as one foreign client."""

import asyncio
import contextlib
import signal
from asyncio.subprocess import PIPE, Process

from tests.contract.mqtt_client.foreign_client import DEADLINE_SECONDS, Level, Message, Part

# The topic, QoS, retain flag, and payload in hexadecimal digits: none contains a space.
FORM = "message %t %q %r %x"
# Long enough for a loaded machine. A longer wait means the deadlock that `stop` describes.
STOP_SECONDS = 2.0


class MosquittoAdapter:
    """A client of one mosquitto_sub process, if it has a subscription, and one mosquitto_pub
    process per message.

    mosquitto_sub subscribes at every start, and does not report whether there was a session.
    """

    def __init__(self, part: Part) -> None:
        self._part = part
        self._process: Process | None = None
        self._reading: asyncio.Task[None] | None = None
        self._subscribed = asyncio.Event()
        self._messages: asyncio.Queue[Message] = asyncio.Queue()
        version = {Level.MQTT_3_1: "mqttv31", Level.MQTT_3_1_1: "mqttv311", Level.MQTT_5_0: "5"}
        self._common = ("-p", str(part.port), "-V", version[part.level])

    def _arguments(self) -> list[str]:
        part = self._part
        assert part.subscription is not None
        topic_filter, qos = part.subscription
        arguments = ["-i", part.client_id, "-t", topic_filter, "-q", str(qos)]
        if part.is_kept:
            arguments.append("-c")
        if part.level == Level.MQTT_5_0:
            arguments += ["-x", str(part.session_expiry_seconds)]
        if (will := part.will) is not None:
            arguments += ["--will-topic", will.topic, "--will-qos", str(will.qos)]
            arguments += ["--will-payload", will.payload.decode()]
            if will.delay_seconds:
                arguments += ["-D", "will", "will-delay-interval", str(will.delay_seconds)]
        return arguments

    async def start(self) -> None:
        """Run mosquitto_sub until the broker has granted the subscription."""
        if self._part.subscription is None:
            return
        # With -d mosquitto_sub reports the SUBACK; without stdbuf that line would stay in a buffer.
        command = ("stdbuf", "-oL", "mosquitto_sub", "-d", "-F", FORM, *self._common)
        self._process = await asyncio.create_subprocess_exec(
            *command, *self._arguments(), stdout=PIPE
        )
        self._reading = asyncio.create_task(self._read(self._process))
        async with asyncio.timeout(DEADLINE_SECONDS):
            await self._subscribed.wait()

    async def _read(self, process: Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            match line.decode().split():
                case ["message", topic, qos, retain, *payload]:
                    content = bytes.fromhex("".join(payload))
                    message = Message(topic, content, int(qos), retain == "1")
                    self._messages.put_nowait(message)
                case ["Subscribed", "(mid:", _, granted]:
                    assert self._part.subscription is not None
                    assert int(granted) == self._part.subscription[1]
                    self._subscribed.set()

    async def publish(self, topic: str, payload: bytes, *, qos: int, retain: bool = False) -> None:
        """Run mosquitto_pub until it has exited."""
        message = ["-t", topic, "-q", str(qos), *(["-r"] if retain else [])]
        message += ["-m", payload.decode()] if payload else ["-n"]
        process = await asyncio.create_subprocess_exec("mosquitto_pub", *self._common, *message)
        async with asyncio.timeout(DEADLINE_SECONDS):
            assert await process.wait() == 0

    async def take(self) -> Message:
        """Return the next message that mosquitto_sub printed."""
        async with asyncio.timeout(DEADLINE_SECONDS):
            return await self._messages.get()

    async def lost(self) -> int | None:
        """Raise NotImplementedError, because mosquitto_sub reconnects by itself."""
        raise NotImplementedError

    async def cut(self) -> None:
        """Kill mosquitto_sub, which closes its socket without a DISCONNECT."""
        if self._process is not None:
            self._signal(signal.SIGKILL)
            await self._ended()

    async def stop(self) -> None:
        """Stop mosquitto_sub as `kill` does. It sends DISCONNECT, in MQTT 5.0 with a request for
        the will.

        mosquitto_sub 2.0 sends it in its signal handler. If it was about to log a packet, the
        handler waits forever for a lock that the process itself holds.
        """
        if self._process is None:
            return
        self._signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await self._process.wait()
        except TimeoutError:
            self._signal(signal.SIGKILL)
        await self._ended()

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(number)

    async def _ended(self) -> None:
        assert self._process is not None
        assert self._reading is not None
        async with asyncio.timeout(DEADLINE_SECONDS):
            await self._process.wait()
            await self._reading
