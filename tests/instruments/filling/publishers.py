"""Publishers that continue while the disk is full, each as its MQTT version requires."""

import asyncio

from gateway.broker.wire.codes import QUOTA_EXCEEDED
from gateway.broker.wire.packets import Connack, Puback, Publish
from tests.peers.byte_client import ByteClient
from tests.peers.packet_client import PacketClient

LOAD = "load"
"""The first level of the publishers' topics."""

PAYLOAD_BYTES = 2_000
REFUSED_SECONDS = 0.1
PUBLISH_SECONDS = 0.002


def payload_of(number: int) -> bytes:
    """Return a number as a payload that is long enough to fill a disk."""
    return b"%d" % number + bytes(PAYLOAD_BYTES)


class LoadPublisher:
    """A publisher that waits for each acknowledgement.

    Subscribers must get all `acknowledged` numbers.
    """

    def __init__(self, port: int, name: str) -> None:
        self.name = name
        self.acknowledged: list[int] = []
        self.refused = 0
        self.is_stopped = False
        self._port = port

    @property
    def topic(self) -> str:
        """The only topic of this publisher."""
        return f"{LOAD}/{self.name}"

    async def run(self) -> None:
        """Publish until `is_stopped`."""
        raise NotImplementedError


class Publisher311(LoadPublisher):
    """A publisher at QoS 2 with a persistent session. Its messages wait while the disk is full."""

    async def run(self) -> None:
        client = await ByteClient.open(self._port)
        async with client:
            await client.connect(self.name, clean=False)
            while not self.is_stopped:
                number = len(self.acknowledged)
                await client.deliver(self.topic, payload_of(number), qos=2)
                self.acknowledged.append(number)
                await asyncio.sleep(PUBLISH_SECONDS)


class Publisher5(LoadPublisher):
    """A publisher at QoS 1. It repeats messages that are refused while the disk is full."""

    async def run(self) -> None:
        client = await PacketClient.open(self._port)
        async with client:
            client.connect(None, method=None, client_id=self.name)
            assert isinstance(await client.receive(), Connack)
            while not self.is_stopped:
                number = len(self.acknowledged)
                client.send(Publish(self.topic, payload_of(number), 1, False, False, 1))
                answer = await client.receive()
                assert isinstance(answer, Puback), answer
                if answer.reason_code == QUOTA_EXCEEDED:
                    self.refused += 1
                    await asyncio.sleep(REFUSED_SECONDS)
                else:
                    assert answer.reason_code < 0x80, answer
                    self.acknowledged.append(number)
                    await asyncio.sleep(PUBLISH_SECONDS)


class LoadSubscriber:
    """A subscriber with a persistent session that stays connected."""

    def __init__(self, port: int) -> None:
        self.received: dict[str, list[int]] = {}
        self.is_subscribed = asyncio.Event()
        self._port = port

    async def run(self) -> None:
        """Receive messages until one without a payload arrives."""
        client = await ByteClient.open(self._port)
        async with client:
            await client.connect("load", clean=False)
            await client.subscribe((f"{LOAD}/#", 2))
            self.is_subscribed.set()
            asking = asyncio.create_task(_ask_for_life(client))
            try:
                while (message := await client.take()).payload:
                    number = int(message.payload.rstrip(b"\0"))
                    self.received.setdefault(message.topic, []).append(number)
            finally:
                asking.cancel()


async def _ask_for_life(client: ByteClient) -> None:
    """Send PINGREQ every 2 s, because nothing else may arrive for longer than a test waits."""
    while True:
        await asyncio.sleep(2.0)
        await client.send_all(b"\xc0\x00")
