"""Repeated SIGKILL of the bridge, the broker and the simulated Uno, each at random moments."""

import asyncio
import json
import logging
import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from tests.bridge.firmware.bridge_process import BridgeProcess
from tests.bridge.firmware.uno import UnoProcess, compile_simulator, compile_uno
from tests.bridge.firmware.witness import Account, account_of
from tests.peers import mqtt_bytes
from tests.peers.byte_client import ByteClient
from tests.peers.mqtt_bytes import Kind, Received
from tests.peers.resuming_client import Progress, Subscriber
from tests.system.broker_process import BrokerProcess

INTERVAL_MS = 100
"""The time between two measurements.

The board's memory holds about 20 frames: after two seconds without a bridge the board gives some
up.
"""
RECORDS_BETWEEN_KILLS = 20
"""Records that must arrive between two kills of one victim.

They come in ten frames, enough for lost and duplicate readings to show.
"""
BETWEEN_SECONDS = (0.0, 1.0)
PROGRESS_SECONDS_MAX = 120.0
CHECK_SECONDS = 0.02
PING_SECONDS = 2.0
SETTLED = "sensors/settled"


class Victim(Protocol):
    """A process that is killed and started again."""

    def start(self) -> None:
        """Start the process."""

    def kill(self) -> None:
        """Kill the process without a warning."""


class Collector(Subscriber):
    """Records every record under `sensors/`, in order of arrival."""

    def __init__(self, port: int, source: random.Random) -> None:
        super().__init__(port, "collector", source, Progress(), filters=(("sensors/#", 2),))
        self.records: list[dict[str, Any]] = []
        self.is_settled = False
        self._pinging: asyncio.Task[None] | None = None

    async def resume(self, client: ByteClient) -> None:
        await super().resume(client)
        self.stop_pinging()
        self._pinging = asyncio.create_task(self._ping(client))

    async def receive(self, client: ByteClient, packet: Received) -> None:
        if packet.kind is not Kind.PINGRESP:
            await super().receive(client, packet)

    def stop_pinging(self) -> None:
        """Stop sending PINGREQ on a connection that has ended."""
        if self._pinging is not None:
            self._pinging.cancel()

    @staticmethod
    async def _ping(client: ByteClient) -> None:
        """Send PINGREQ regularly, so that a dead broker is noticed while the bridge is away and no
        message comes."""
        while True:
            await asyncio.sleep(PING_SECONDS)
            await client.send_all(mqtt_bytes.PINGREQ)

    def is_finished(self) -> bool:
        return self.is_settled and not self._received_ids

    def _count(self, packet: Received) -> None:
        if packet.topic == SETTLED:
            self.is_settled = True
        else:
            self.records += json.loads(packet.payload)


class Campaign:
    """One run with kills. The files remain on disk if the run was not whole."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)  # noqa: S311
        self.broker = BrokerProcess()
        self.directory = Path(self.broker.directory)
        self.kills: Counter[str] = Counter()
        self.account = Account()
        self.size = ""
        self.collector = Collector(self.broker.port, self._roll())
        self._uno: UnoProcess | None = None
        self._bridge: BridgeProcess | None = None

    def _roll(self) -> random.Random:
        return random.Random(self.dice.random())  # noqa: S311

    def summary(self) -> str:
        """Return the number of kills and records so far, and at the end also the counts of the
        account."""
        return f"kills {dict(self.kills)}, records {len(self.collector.records)}, {self.account}"

    def stop(self) -> None:
        """Stop every process. The files remain."""
        if self._uno is not None:
            self._uno.close()
        if self._bridge is not None and self._bridge.is_running:
            self._bridge.kill()
        if self.broker.is_running:
            self.broker.kill()

    def remove(self) -> None:
        """Stop every process and remove all files."""
        self.stop()
        self.broker.remove()

    async def run(self, kills: int, report: Callable[[], None] = lambda: None) -> None:
        """Kill each victim `kills` times, wait until everything has arrived, and count.

        `report` is called after each kill.
        """
        # A client notices that a broker is dead when writing fails, which asyncio would log as a
        # warning.
        logging.getLogger("asyncio").setLevel(logging.ERROR)
        firmware, self.size = await asyncio.to_thread(
            compile_uno, self.directory / "build", INTERVAL_MS
        )
        simulator = await asyncio.to_thread(compile_simulator, self.directory)
        self._uno = uno = UnoProcess(simulator, firmware, self.directory)
        self._bridge = bridge = BridgeProcess(
            self.directory,
            self.broker.port,
            f'[[serial]]\nname = "uno"\npath = "{uno.link}"\nframing = "board"\n',
        )
        await asyncio.to_thread(self.broker.start)
        async with asyncio.TaskGroup() as tasks:
            collecting = tasks.create_task(self.collector.run())
            await self.collector.is_subscribed.wait()
            for victim in (uno, bridge):
                await asyncio.to_thread(victim.start)
            victims: dict[str, Victim] = {"board": uno, "bridge": bridge, "broker": self.broker}
            async with asyncio.TaskGroup() as killing:
                for name, each in victims.items():
                    killing.create_task(self._kill(name, each, kills, self._roll(), report))
            await self._drain(uno, bridge)
            await asyncio.wait_for(collecting, PROGRESS_SECONDS_MAX)
        self.collector.stop_pinging()
        self._count(uno)

    async def _kill(
        self,
        name: str,
        victim: Victim,
        kills: int,
        dice: random.Random,
        report: Callable[[], None],
    ) -> None:
        for _ in range(kills):
            before = len(self.collector.records)
            # The moment of a kill must be random, so no condition is awaited here.
            await asyncio.sleep(dice.uniform(*BETWEEN_SECONDS))
            await asyncio.to_thread(victim.kill)
            await asyncio.sleep(dice.uniform(0.0, 0.2))
            await asyncio.to_thread(victim.start)
            self.kills[name] += 1
            report()
            # A kill while nothing arrives would prove nothing.
            enough = before + RECORDS_BETWEEN_KILLS
            await self._until(lambda: len(self.collector.records) >= enough)  # noqa: B023

    async def _drain(self, uno: UnoProcess, bridge: BridgeProcess) -> None:
        """Cut the board's power a last time, and wait until the bridge has delivered every reading
        that it acknowledged."""
        await asyncio.to_thread(uno.kill)
        await self._until(lambda: bridge.waiting() == 0)
        async with await ByteClient.open(self.broker.port) as client:
            await client.connect("the-end", clean=True)
            await client.deliver(SETTLED, b"", qos=2)

    @staticmethod
    async def _until(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PROGRESS_SECONDS_MAX):
            while not condition():  # noqa: ASYNC110 - files of other processes can only be asked
                await asyncio.sleep(CHECK_SECONDS)

    def _count(self, uno: UnoProcess) -> None:
        sent = uno.sent.read_bytes()
        ends = [*uno.lives[1:], len(sent)]
        lives = [sent[begin:end] for begin, end in zip(uno.lives, ends, strict=True)]
        self.account = account_of(lives, uno.received.read_bytes(), self.collector.records)
