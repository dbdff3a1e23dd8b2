"""Publishers and subscribers that follow the standard and count what they received.

Their session state is in memory, like that of a device that keeps running while the broker dies. A
publisher resends unacknowledged packets with DUP and the same packet identifiers. A subscriber
remembers the identifiers of QoS 2 messages until their PUBREL. Each client cuts its own connection
at random moments and reconnects.

The rules are checked at each message: a gap, a message out of order or a duplicate QoS 2 message
fails immediately, with the message numbers that show it.
"""

import asyncio
import random
from dataclasses import dataclass, field

from tests.peers import mqtt_bytes
from tests.peers.byte_client import ByteClient, ConnectionEnded
from tests.peers.mqtt_bytes import Kind, Received

# Least and largest number of packets that a connection carries before its client cuts it.
PACKETS_BEFORE_CUT = (5, 1500)


# Messages that the slowest subscriber may be behind: no queue reaches its limit and drops.
BACKLOG_MAX = 2000


@dataclass
class Progress:
    """The progress of all clients of a test, which they share."""

    published: int = 0
    taken: dict[str, int] = field(default_factory=dict)
    expected: dict[str, int] | None = None
    """Number of messages that each topic has carried, set once all publishers have finished."""

    @property
    def backlog(self) -> int:
        """Number of messages that the slowest subscriber is behind."""
        return self.published - min(self.taken.values())


class ResumingClient:
    """A client that connects, resumes, works until its connection ends, and starts over."""

    def __init__(
        self, port: int, client_id: str, source: random.Random, progress: Progress
    ) -> None:
        self.client_id = client_id
        self.progress = progress
        self.connection_count = 0
        self.rest_seconds = 0.0
        self._port = port
        self._source = source
        self._has_session = False

    async def run(self) -> None:
        """Connect again and again until the client has nothing more to do."""
        while not self.is_finished():
            try:
                await self._live_through_a_connection()
            except (ConnectionEnded, ConnectionError):
                # The broker is dead, so wait a moment before the next attempt.
                await asyncio.sleep(self._source.uniform(0.005, 0.05))
            else:
                # The client cut the connection itself: others publish while it is away.
                await asyncio.sleep(self._source.uniform(0.0, self.rest_seconds))

    def is_finished(self) -> bool:
        """Return True if the client has nothing more to do."""
        raise NotImplementedError

    async def resume(self, client: ByteClient) -> None:
        """Send the packets that come first on each connection."""
        raise NotImplementedError

    async def receive(self, client: ByteClient, packet: Received) -> None:
        """Answer one packet."""
        raise NotImplementedError

    def session_forgotten(self) -> None:
        """Fail, because the broker has lost the session. Subclasses may allow it."""
        raise AssertionError(f"the broker forgot the session of {self.client_id}")

    async def _live_through_a_connection(self) -> None:
        client = await ByteClient.open(self._port)
        async with client:
            connack = await client.connect(self.client_id, clean=False)
            assert connack.return_code == 0
            if self._has_session and not connack.session_present:
                self.session_forgotten()
            self._has_session = True
            self.connection_count += 1
            await self.resume(client)
            for _ in range(self._source.randint(*PACKETS_BEFORE_CUT)):
                if self.is_finished():
                    # A reset could overtake the last acknowledgement, so leave only once the broker
                    # has read it.
                    await client.ping()
                    await client.disconnect()
                    return
                await self.receive(client, await client.receive())


@dataclass
class Unfinished:
    """A message whose delivery to the broker is not complete."""

    topic: str
    payload: bytes
    qos: int
    is_received: bool = False


class Publisher(ResumingClient):
    """A publisher of numbered messages to `load/<name>/<qos>`, alternately of QoS 1 and 2."""

    def __init__(
        self, port: int, name: str, source: random.Random, progress: Progress, *, window: int
    ) -> None:
        super().__init__(port, f"publisher-{name}", source, progress)
        self.published = {1: 0, 2: 0}
        self._name = name
        self._window = window
        self._unfinished: dict[int, Unfinished] = {}
        self._last_packet_id = 0
        self._is_stopping = False

    def topic_of(self, qos: int) -> str:
        """Return the topic to which this publisher sends its messages of one QoS."""
        return f"load/{self._name}/{qos}"

    def stop(self) -> None:
        """Publish no new message, but complete those in flight."""
        self._is_stopping = True

    def is_finished(self) -> bool:
        return self._is_stopping and not self._unfinished

    async def resume(self, client: ByteClient) -> None:
        """Resend unacknowledged PUBLISH and PUBREL packets in order [MQTT-4.4.0-1]."""
        for packet_id, message in self._unfinished.items():
            if message.is_received:
                await client.acknowledge(Kind.PUBREL, packet_id)
            else:
                await self._send(client, packet_id, message, dup=True)
        await self._fill_the_window(client)

    async def receive(self, client: ByteClient, packet: Received) -> None:
        message = self._unfinished.get(packet.packet_id)
        assert message is not None, f"{packet} acknowledges nothing that {self.client_id} sent"
        if packet.kind is Kind.PUBREC:
            message.is_received = True
            await client.acknowledge(Kind.PUBREL, packet.packet_id)
            return
        assert packet.kind is (Kind.PUBACK if message.qos == 1 else Kind.PUBCOMP), packet
        assert message.qos == 1 or message.is_received, f"{packet} before PUBREC"
        del self._unfinished[packet.packet_id]
        await self._fill_the_window(client)

    async def _fill_the_window(self, client: ByteClient) -> None:
        while not self._is_stopping and len(self._unfinished) < self._window:
            if self.progress.backlog > BACKLOG_MAX:
                await asyncio.sleep(0.02)
                continue
            qos = self._source.choice((1, 2))
            self.published[qos] += 1
            self.progress.published += 1
            message = Unfinished(self.topic_of(qos), b"%d" % self.published[qos], qos)
            packet_id = self._free_packet_id()
            self._unfinished[packet_id] = message
            await self._send(client, packet_id, message, dup=False)

    def _free_packet_id(self) -> int:
        while True:
            self._last_packet_id = self._last_packet_id % 65535 + 1
            if self._last_packet_id not in self._unfinished:
                return self._last_packet_id

    @staticmethod
    async def _send(client: ByteClient, packet_id: int, message: Unfinished, *, dup: bool) -> None:
        await client.publish(
            message.topic, message.payload, qos=message.qos, packet_id=packet_id, dup=dup
        )


@dataclass
class Tally:
    """The messages of one topic that a subscriber received."""

    last: int = 0
    repeated: int = 0


class Subscriber(ResumingClient):
    """A subscriber to `load/#`. Each delivery's QoS must be min(published, granted)."""

    def __init__(
        self,
        port: int,
        name: str,
        source: random.Random,
        progress: Progress,
        *,
        filters: tuple[tuple[str, int], ...],
        rest_seconds: float = 0.0,
    ) -> None:
        super().__init__(port, f"subscriber-{name}", source, progress)
        self.tallies: dict[str, Tally] = {}
        self.suppressed_count = 0
        self.is_subscribed = asyncio.Event()
        self._filters = filters
        self._granted = max(qos for _, qos in filters)
        self.rest_seconds = rest_seconds
        progress.taken[self.client_id] = 0
        self._received_ids: set[int] = set()

    def is_finished(self) -> bool:
        expected = self.progress.expected
        return (
            expected is not None
            and not self._received_ids
            and expected == {topic: tally.last for topic, tally in self.tallies.items()}
        )

    async def resume(self, client: ByteClient) -> None:
        if not self.is_subscribed.is_set():
            await client.send_all(mqtt_bytes.subscribe(1, *self._filters))

    async def receive(self, client: ByteClient, packet: Received) -> None:
        match packet.kind:
            case Kind.SUBACK:
                self.is_subscribed.set()
            case Kind.PUBLISH if packet.qos == 2:
                if packet.packet_id in self._received_ids:
                    assert packet.dup, f"{self.client_id}: {packet} takes an id that is in use"
                    self.suppressed_count += 1
                else:
                    self._received_ids.add(packet.packet_id)
                    self._count(packet)
                await client.acknowledge(Kind.PUBREC, packet.packet_id)
            case Kind.PUBLISH:
                self._count(packet)
                await client.acknowledge(Kind.PUBACK, packet.packet_id)
            case Kind.PUBREL:
                self._received_ids.discard(packet.packet_id)
                await client.acknowledge(Kind.PUBCOMP, packet.packet_id)
            case _:
                raise AssertionError(f"{self.client_id} was sent {packet}")

    def _count(self, packet: Received) -> None:
        tally = self.tallies.setdefault(packet.topic, Tally())
        number = int(packet.payload)
        qos = min(int(packet.topic[-1]), self._granted)
        assert packet.qos == qos, f"{self.client_id}: {packet} is not of QoS {qos}"
        if number == tally.last + 1:
            tally.last = number
            self.progress.taken[self.client_id] += 1
            return
        assert number <= tally.last, (
            f"{self.client_id}: lost or out of order on {packet.topic}: {number} after {tally.last}"
        )
        assert qos == 1, (
            f"{self.client_id}: doubled on {packet.topic}: {number} after {tally.last}, {packet}"
        )
        tally.repeated += 1
