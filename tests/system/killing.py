"""Repeated SIGKILL under load, with counts of everything lost, duplicated or forgotten.

Besides the publishers and subscribers of `resuming_clients` there is load for which no client
waits: retained messages at QoS 0, and acknowledgements. After each of them the client sends
PINGREQ. A PINGRESP proves that the broker has accepted everything before the PINGREQ, so no kill
may undo it.
"""

import asyncio
import logging
import random
import time
from collections import Counter
from collections.abc import Callable

from tests.peers import mqtt_bytes
from tests.peers.byte_client import ByteClient
from tests.peers.mqtt_bytes import Kind, Received
from tests.peers.resuming_client import Progress, Publisher, ResumingClient, Subscriber, Tally
from tests.system.session_log import Uploader, deliveries_of
from tests.system.warm_broker import WarmBroker

EARLY_KILLS = 0.1
"""Share of the starts after which the broker is killed before it is ready."""

LIFE_SECONDS = (0.0, 0.2)
"""Time between READY and SIGKILL."""

DRAIN_SECONDS = 120.0


class CountingSubscriber(Subscriber):
    """A subscriber that counts errors for which a `Subscriber` would fail."""

    counts: Counter[str]

    def session_forgotten(self) -> None:
        self.counts["sessions forgotten"] += 1

    def _count(self, packet: Received) -> None:
        tally = self.tallies.setdefault(packet.topic, Tally())
        number = int(packet.payload)
        if number > tally.last + 1:
            self.counts["messages lost"] += number - tally.last - 1
            tally.last = number - 1
        elif number <= tally.last and packet.qos == 2:
            self.counts["messages doubled"] += 1
            return
        super()._count(packet)


class Keeper(ResumingClient):
    """Publishes retained numbers at QoS 0, and checks after each kill what the broker retains."""

    def __init__(
        self, port: int, name: str, source: random.Random, progress: Progress, counts: Counter[str]
    ) -> None:
        super().__init__(port, f"keeper-{name}", source, progress)
        self.topic = f"kept/{name}"
        self.sent = 0
        self.taken_up = 0
        """The newest number that the broker is known to have accepted."""
        self.is_stopping = False
        self._counts = counts
        self._asked: list[int] = []

    def is_finished(self) -> bool:
        return self.is_stopping

    async def resume(self, client: ByteClient) -> None:
        self._asked.clear()
        await client.send_all(mqtt_bytes.subscribe(1, (self.topic, 0)))
        await client.find(Kind.SUBACK)
        await client.ping()
        found = 0
        while client.has_waiting():
            packet = await client.receive()
            if packet.kind is Kind.PUBLISH:
                found = int(packet.payload)
        if found < self.taken_up:
            self._counts["retained messages forgotten"] += 1
        self._counts["retained messages looked for"] += 1
        await client.unsubscribe(self.topic)
        await self._go_on(client)

    async def _go_on(self, client: ByteClient) -> None:
        self.sent += 1
        self._asked.append(self.sent)
        await client.publish(self.topic, b"%d" % self.sent, retain=True)
        await client.send_all(mqtt_bytes.PINGREQ)

    async def receive(self, client: ByteClient, packet: Received) -> None:
        if packet.kind is Kind.PINGRESP:
            self.taken_up = self._asked.pop(0)
            await self._go_on(client)


class Acknowledger(ResumingClient):
    """Receives QoS 1, sends PINGREQ after each PUBACK, and counts repeats after that."""

    def __init__(
        self, port: int, source: random.Random, progress: Progress, counts: Counter[str]
    ) -> None:
        super().__init__(port, "acknowledger", source, progress)
        self.is_subscribed = asyncio.Event()
        self.is_stopping = False
        self._counts = counts
        self._acknowledged: dict[int, Received] = {}
        """The newest message of each packet identifier for which the broker has accepted PUBACK."""
        self._asked: list[Received] = []

    def is_finished(self) -> bool:
        return self.is_stopping

    async def resume(self, client: ByteClient) -> None:
        self._asked.clear()
        if not self.is_subscribed.is_set():
            await client.send_all(mqtt_bytes.subscribe(1, ("load/+/1", 1)))

    async def receive(self, client: ByteClient, packet: Received) -> None:
        if packet.kind is Kind.SUBACK:
            self.is_subscribed.set()
        elif packet.kind is Kind.PINGRESP:
            acknowledged = self._asked.pop(0)
            self._acknowledged[acknowledged.packet_id] = acknowledged
        elif packet.kind is Kind.PUBLISH:
            # A publisher may repeat QoS 1. The broker delivers the repeat under a packet identifier
            # of its own.
            before = self._acknowledged.get(packet.packet_id)
            is_again = before is not None and (before.topic, before.payload) == (
                packet.topic,
                packet.payload,
            )
            if packet.dup and is_again:
                self._counts["acknowledgements forgotten"] += 1
            self._counts["acknowledgements sent"] += 1
            self._asked.append(packet)
            await client.acknowledge(Kind.PUBACK, packet.packet_id)
            await client.send_all(mqtt_bytes.PINGREQ)


class Campaign:
    """One run with many kills, and the counts of errors that it found."""

    BROKEN = (
        "messages lost",
        "messages doubled",
        "sessions forgotten",
        "retained messages forgotten",
        "acknowledgements forgotten",
    )

    def __init__(self, seed: int) -> None:
        self.source = random.Random(seed)  # noqa: S311
        self.broker = WarmBroker("[mqtt]\nmax_inflight = 100")
        self.uploader = Uploader(self.broker.data_directory, self.broker.directory / "upload")
        self.counts: Counter[str] = Counter(dict.fromkeys(self.BROKEN, 0))
        self.progress = Progress()
        self.kills = 0
        self.seconds = 0.0
        port, dice = self.broker.port, self._dice
        self.publishers = [
            Publisher(port, name, dice(), self.progress, window=window)
            for name, window in (("one", 1), ("few", 10), ("many", 40))
        ]
        self.subscribers = [
            CountingSubscriber(
                port,
                name,
                dice(),
                self.progress,
                filters=filters,
                rest_seconds=rest_seconds,
            )
            for name, filters, rest_seconds in (
                ("exact", (("load/#", 2),), 0.0),
                ("lower", (("load/#", 1),), 0.0),
                ("often-away", (("load/#", 2),), 1.0),
            )
        ]
        for subscriber in self.subscribers:
            subscriber.counts = self.counts
        self.keepers = [Keeper(port, name, dice(), self.progress, self.counts) for name in "ab"]
        self.acknowledger = Acknowledger(port, dice(), self.progress, self.counts)

    def _dice(self) -> random.Random:
        return random.Random(self.source.random())  # noqa: S311

    def is_whole(self) -> bool:
        """Return True if nothing was lost, duplicated or forgotten."""
        return not any(self.counts[what] for what in self.BROKEN)

    async def run(self, kills: int, report: Callable[[], None]) -> None:
        """Kill the broker `kills` times, wait until every client has finished, and check the
        remaining state."""
        # A client notices that the broker is dead when writing fails, which asyncio would log as a
        # warning.
        logging.getLogger("asyncio").setLevel(logging.ERROR)
        await asyncio.to_thread(self._start)
        self.uploader.start()
        try:
            await self._run(kills, report)
        finally:
            self.uploader.kill()

    def _start(self) -> None:
        self.broker.begin()
        self.broker.await_readiness()

    async def _run(self, kills: int, report: Callable[[], None]) -> None:
        async with asyncio.TaskGroup() as tasks:
            listening: list[CountingSubscriber | Acknowledger] = [
                *self.subscribers,
                self.acknowledger,
            ]
            for listener in listening:
                tasks.create_task(listener.run())
            for listener in listening:
                await listener.is_subscribed.wait()
            publishing = [tasks.create_task(each.run()) for each in self.publishers]
            keeping = [tasks.create_task(each.run()) for each in self.keepers]
            began = time.monotonic()
            while self.kills < kills:
                await self._kill()
                report()
            self.seconds = time.monotonic() - began
            self.acknowledger.is_stopping = True
            for keeper in self.keepers:
                keeper.is_stopping = True
            for publisher in self.publishers:
                publisher.stop()
            async with asyncio.timeout(DRAIN_SECONDS):
                await asyncio.gather(*publishing, *keeping)
            self.progress.expected = {
                publisher.topic_of(qos): publisher.published[qos]
                for publisher in self.publishers
                for qos in (1, 2)
                if publisher.published[qos]
            }
            # One more message per QoS: the last message must come after all repeats.
            client = await ByteClient.open(self.broker.port)
            async with client:
                await client.connect("the-end", clean=True)
                for qos in (1, 2):
                    self.progress.expected[f"load/end/{qos}"] = 1
                    await client.deliver(f"load/end/{qos}", b"1", qos=qos)
        client = await ByteClient.open(self.broker.port)
        async with client:
            await client.connect(self.acknowledger.client_id, clean=True)
            await client.disconnect()
        assert await asyncio.to_thread(self.broker.stop) == 0
        tables = ("inbound", "outbound", "queue")
        assert self.broker.rows_of(*tables) == dict.fromkeys(tables, 0)
        assert await asyncio.to_thread(self.uploader.stop_when_done) == 0

    async def _kill(self) -> None:
        # The moment of a kill must be random, so no condition is awaited here.
        await asyncio.sleep(self.source.uniform(*LIFE_SECONDS))
        await asyncio.to_thread(self.broker.strike)
        self.kills += 1
        if self.source.random() < EARLY_KILLS:
            self.broker.begin()
            await asyncio.sleep(self.source.uniform(0.0, 0.1))
            await asyncio.to_thread(self.broker.strike)
            self.kills += 1
        await asyncio.to_thread(self._start)

    def log_agrees(self) -> str:
        """Return a summary of the session log. Call this after the broker has stopped and
        everything is uploaded.

        Raises:
            AssertionError: The log lacks an event or has it twice.
        """
        log = deliveries_of(self.broker.data_directory)
        assert set(log.held.values()) == {1}, "held twice"
        assert log.released == log.held, "held and not released"
        assert set(log.completed.values()) == {1}, "completed twice"
        assert not log.dropped, f"dropped: {log.dropped}"
        return f"{log.event_count} events, {log.held.total()} held and released once each"
