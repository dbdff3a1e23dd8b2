"""SIGKILL of the uplink and of both brokers under load, with cuts of the link, and counts of the
effects.

Numbered messages are sent in both directions at the same time. Publishers and subscribers reconnect
as the standard requires. Each subscriber counts messages that are lost, duplicated or out of order.
Mosquitto may send a message ahead of earlier ones; see docs/uplink.md.
"""

import asyncio
import contextlib
import logging
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from tests.bridge.broker import Mosquitto
from tests.peers.byte_client import ByteClient
from tests.peers.resuming_client import Progress, Publisher
from tests.system.broker_process import BrokerProcess
from tests.uplink.cutting_proxy import CuttingProxy
from tests.uplink.numbered_subscriber import NumberedSubscriber
from tests.uplink.processes import UplinkProcess
from tests.uplink.repeated_exchanges import RepeatedExchanges

OUT = '[[uplink.topics]]\nfilter = "load/there/+"\ndirection = "out"\n'
IN = '[[uplink.topics]]\nfilter = "load/back/+"\ndirection = "in"\n'
DRAIN_SECONDS = 60.0
BETWEEN_SECONDS = (0.0, 0.6)
BROKEN = ("messages lost", "messages doubled", "sessions forgotten")
REORDERED = "messages out of order"
MOSQUITTO_IN_FLIGHT = 20
"""Mosquitto's default."""


class Upstream(Protocol):
    """The upstream broker, as far as a campaign uses it."""

    port: int


class Way:
    """One direction, with a publisher at one broker and a subscriber at the other."""

    def __init__(self, name: str, source_port: int, target_port: int, dice: random.Random) -> None:
        self.name = name
        self.progress = Progress()
        self.counts: Counter[str] = Counter(dict.fromkeys((*BROKEN, REORDERED), 0))
        self._source_port = source_port

        def roll() -> random.Random:
            return random.Random(dice.random())  # noqa: S311

        self.publisher = Publisher(source_port, name, roll(), self.progress, window=20)
        self.subscriber = NumberedSubscriber(
            target_port, name, roll(), self.progress, f"load/{name}/+"
        )
        self.subscriber.counts = self.counts

    @property
    def taken(self) -> int:
        """The number of messages that have arrived."""
        return self.progress.taken[self.subscriber.client_id]

    async def finish(self, publishing: "asyncio.Task[None]") -> None:
        """Stop publishing, and expect all published messages."""
        self.publisher.stop()
        await publishing
        published = self.publisher.published
        expected = {self.publisher.topic_of(qos): published[qos] for qos in (1, 2)}
        client = await ByteClient.open(self._source_port)
        async with client:
            # One more message per QoS: the last message must come after all repeats.
            await client.connect(f"the-end-{self.name}", clean=True)
            for qos in (1, 2):
                topic = self.publisher.topic_of(qos)
                expected[topic] += 1
                await client.deliver(topic, b"%d" % expected[topic], qos=qos)
        self.progress.expected = expected


class Campaign:
    """One run. `kill` has the processes that may be killed, one after the other."""

    def __init__(
        self,
        seed: int,
        *,
        mosquitto: bool = False,
        victims: tuple[str, ...] = ("uplink", "local", "upstream"),
        cuts: int = 0,
        protocol: int = 5,
    ) -> None:
        self.dice = random.Random(seed)  # noqa: S311
        self.local = BrokerProcess()
        self.upstream: Mosquitto | BrokerProcess = (
            Mosquitto(Path(self.local.directory), in_flight=MOSQUITTO_IN_FLIGHT, persists=True)
            if mosquitto
            else BrokerProcess()
        )
        self._broken = BROKEN if mosquitto else (*BROKEN, REORDERED)
        self.kills: Counter[str] = Counter()
        self.proxy: CuttingProxy | None = None
        self.repeated = RepeatedExchanges(protocol)
        """Repeats by the upstream broker, which is at fault for the duplicates."""
        self._victims = victims
        self._cuts_wanted = cuts
        self._section = f"protocol = {protocol}"
        self.ways = [
            Way("there", self.local.port, self.upstream.port, self.dice),
            Way("back", self.upstream.port, self.local.port, self.dice),
        ]

    def is_whole(self) -> bool:
        """Return True if no message was lost or duplicated, no session forgotten, and Oncegate kept
        the order."""
        return not any(way.counts[what] for way in self.ways for what in self._broken)

    def summary(self) -> str:
        """Return the number of kills and cuts so far, and the counts."""
        counted = {way.name: (way.taken, dict(way.counts)) for way in self.ways}
        cuts = self.proxy.cuts if self.proxy else 0
        again = len(self.repeated.messages)
        return (
            f"kills {dict(self.kills)}, cuts {cuts}, messages {counted}, "
            f"published again after PUBREL by the upstream broker: {again}"
        )

    def stop(self) -> None:
        """Stop every process. The files remain."""
        if isinstance(self.upstream, Mosquitto):
            self.upstream.stop()
        elif self.upstream.is_running:
            self.upstream.kill()
        if self.local.is_running:
            self.local.kill()

    def remove(self) -> None:
        """Stop every process and remove all files."""
        self.stop()
        if isinstance(self.upstream, BrokerProcess):
            self.upstream.remove()
        self.local.remove()

    async def run(self, kills: int, report: Callable[[], None] = lambda: None) -> None:
        """Kill processes `kills` times, wait until everything has arrived, and count."""
        # A client notices that a broker is dead when writing fails, which asyncio would log as a
        # warning.
        logging.getLogger("asyncio").setLevel(logging.ERROR)
        await asyncio.to_thread(self.local.start)
        if isinstance(self.upstream, BrokerProcess):
            await asyncio.to_thread(self.upstream.start)
        else:
            self.upstream.start()
            await self.upstream.wait_until_ready()
        self.proxy = proxy = CuttingProxy(
            self.upstream.port,
            self.dice,
            lives=self._cuts_wanted,
            bytes_max=60_000,
            watch=self.repeated.watch,
        )
        async with proxy:
            uplink = UplinkProcess(self.local, proxy.port, OUT + IN, self._section)
            uplink.start()
            try:
                await uplink.connected()
                await self._under_load(uplink, proxy, kills, report)
            finally:
                uplink.kill()

    async def _under_load(
        self, uplink: UplinkProcess, proxy: CuttingProxy, kills: int, report: Callable[[], None]
    ) -> None:
        async with asyncio.TaskGroup() as tasks:
            taking = [tasks.create_task(way.subscriber.run()) for way in self.ways]
            for way in self.ways:
                await way.subscriber.is_subscribed.wait()
            publishing = [tasks.create_task(way.publisher.run()) for way in self.ways]
            for _ in range(kills):
                await self._kill(uplink)
                report()
            proxy.stop_cutting()
            async with asyncio.timeout(DRAIN_SECONDS):
                for way, each in zip(self.ways, publishing, strict=True):
                    await way.finish(each)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_SECONDS):
                    while any(not way.subscriber.is_finished() for way in self.ways):
                        assert uplink.is_running, uplink.log()
                        await asyncio.sleep(0.05)  # Polled: a subscriber sends no event.
            for way, each in zip(self.ways, taking, strict=True):
                way.subscriber.count_lost()
                if way.counts["messages lost"]:
                    each.cancel()  # The subscriber still waits for lost messages.

    async def _kill(self, uplink: UplinkProcess) -> None:
        before = [way.taken for way in self.ways]
        # The moment of a kill must be random, so no condition is awaited here.
        await asyncio.sleep(self.dice.uniform(*BETWEEN_SECONDS))
        victims: dict[str, UplinkProcess | BrokerProcess | Mosquitto] = {
            "uplink": uplink,
            "local": self.local,
            "upstream": self.upstream,
        }
        # The processes take turns, so that a few kills reach each of them.
        name = self._victims[self.kills.total() % len(self._victims)]
        victim = victims[name]
        end = victim.stop if isinstance(victim, Mosquitto) else victim.kill
        await asyncio.to_thread(end)
        await asyncio.to_thread(victim.start)
        self.kills[name] += 1
        async with asyncio.timeout(DRAIN_SECONDS):
            # A kill while nothing arrives would prove nothing.
            while [way.taken for way in self.ways] == before:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
