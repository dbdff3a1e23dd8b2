"""A campaign: clients publish and subscribe while the power of the broker's disk is cut repeatedly.

The seed determines all random choices: how busy the disk is, at which operation the power is cut,
and which writes survive. No seed determines the scheduling of processes, so a seed repeats the
kinds of cuts but not their exact times. If something was lost, the disk's contents are kept.
"""

import asyncio
import enum
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.instruments.powercut.clients import (
    END_TOPICS,
    LedgerPublisher,
    Verdict,
    WatchfulSubscriber,
    count_losses,
)
from tests.instruments.powercut.machine import BUSY, EARLY_CUTS, STARTING, Cut, Machine
from tests.instruments.powercut.mounted_disk import MountedDisk
from tests.instruments.powercut.subjects import Subject
from tests.peers.byte_client import ByteClient
from tests.peers.resuming_client import Progress

DRAIN_DEADLINE_SECONDS = 60.0


class AtAFault(enum.Enum):
    """The reaction of a campaign to a lost, doubled, forgotten or damaged message."""

    FAIL = enum.auto()
    STOP_CUTTING = enum.auto()
    GO_ON = enum.auto()


@dataclass
class Campaign:
    """A campaign. `verdict` and `cuts` grow while it runs."""

    disk: MountedDisk
    subject: Subject
    seed: int
    cut_count: int
    is_lying: bool = False
    at_a_fault: AtAFault = AtAFault.FAIL
    faults: tuple[str, ...] = ()
    """Temporary faults of the disk between the cuts (`machine.FAULTS`)."""

    faults_met: Counter[str] = field(default_factory=Counter)
    """Counts of temporary faults, and of faults that ended a process."""

    verdict: Verdict = field(default_factory=Verdict)
    cuts: list[Cut] = field(default_factory=list)
    publishers: list[LedgerPublisher] = field(default_factory=list)
    subscribers: list[WatchfulSubscriber] = field(default_factory=list)
    progress: Progress = field(default_factory=Progress)
    is_counted: bool = False
    """True if the run was completed, after which losses are counted."""

    @property
    def _machine(self) -> Machine:
        return Machine(self.disk, self.subject, self.is_lying, self.faults)

    async def run(self, report: Callable[[], None]) -> None:
        """Cut the power repeatedly, let all clients finish, and count.

        The broker still runs at the end.
        """
        dice = self._dice("clients")
        self._make_clients(dice)
        self.disk.switch_on()
        await self._start()
        # The files of the first start are safe. From now on the disk lies, if it is a lying one.
        self.disk.set(is_lying=self.is_lying)
        async with asyncio.TaskGroup() as tasks:
            for subscriber in self.subscribers:
                tasks.create_task(subscriber.run())
            for subscriber in self.subscribers:
                await subscriber.is_subscribed.wait()
            publishing = [tasks.create_task(publisher.run()) for publisher in self.publishers]
            for number in range(1, self.cut_count + 1):
                await self._cut_and_start(number)
                report()
                if not self.verdict.is_clean():
                    assert self.at_a_fault is not AtAFault.FAIL, self.story()
                    if self.at_a_fault is AtAFault.STOP_CUTTING:
                        break
            await self._finish(publishing)
        count_losses(self.publishers, self.subscribers, self.verdict)
        self.is_counted = True

    @property
    def published(self) -> int:
        """Return the number of published QoS 2 messages."""
        return sum(publisher.published[2] for publisher in self.publishers)

    def story(self) -> str:
        """Return the findings, and the last cuts before them."""
        lines = [f"seed {self.seed}, media of the last cuts in {self.disk.directory}"]
        lines += [str(cut) for cut in self.cuts[-3:]]
        return "\n".join(lines + self.verdict.notes)

    def _dice(self, purpose: str) -> random.Random:
        return random.Random(f"{self.seed}/{purpose}")  # noqa: S311

    def _make_clients(self, dice: random.Random) -> None:
        def subscriber(
            name: str, *filters: tuple[str, int], rest_seconds: float = 0.0
        ) -> WatchfulSubscriber:
            return WatchfulSubscriber(
                self.subject.port,
                name,
                random.Random(dice.random()),  # noqa: S311
                self.progress,
                filters=filters,
                verdict=self.verdict,
                rest_seconds=rest_seconds,
            )

        self.subscribers = [
            subscriber("exact", ("load/#", 2)),
            subscriber("lower", ("load/#", 1)),
            subscriber("often-away", ("load/#", 2), rest_seconds=2.0),
        ]
        if self.subject.merges_overlapping_filters:
            self.subscribers.append(
                subscriber("overlapping", ("load/#", 1), ("load/+/+", 2), ("load/+/2", 0))
            )
        self.publishers = [
            LedgerPublisher(
                self.subject.port,
                name,
                random.Random(dice.random()),  # noqa: S311
                self.progress,
                window=window,
                verdict=self.verdict,
            )
            for name, window in (("one", 1), ("few", 10), ("many", 40))
        ]

    async def _start(self) -> float:
        seconds = await self._machine.start()
        damage = await asyncio.to_thread(self.subject.damage)
        if damage is not None:
            self.verdict.damaged += 1
            self.verdict.note(damage)
        return seconds

    async def _cut_and_start(self, number: int) -> None:
        dice, machine = self._dice(str(number)), self._machine
        if self.faults:
            self.faults_met["faults"] += 1
            if await machine.fail_for_a_while(dice):
                self.faults_met["processes ended"] += 1
                await self._start()
        machine.arm(dice, BUSY)
        await self._cut(f"{self.seed}/{number}")
        while dice.random() < EARLY_CUTS:
            await machine.switch_on(dice)
            machine.arm(dice, STARTING)
            self.subject.spawn()
            await self._cut(f"{self.seed}/{number}/early")
        await machine.switch_on(dice)
        self.cuts[-1].start_seconds = await self._start()

    async def _cut(self, seed: str) -> None:
        at = await asyncio.to_thread(self.disk.await_dark)
        self.cuts.append(Cut(seed, at, await self._machine.cut(seed)))

    async def _finish(self, publishing: list["asyncio.Task[None]"]) -> None:
        for publisher in self.publishers:
            publisher.stop()
        async with asyncio.timeout(DRAIN_DEADLINE_SECONDS):
            await asyncio.gather(*publishing)
        self.progress.expected = {}
        client = await ByteClient.open(self.subject.port)
        async with client:
            await client.connect("the end")
            for topic in END_TOPICS:
                await client.deliver(topic, b"1", qos=int(topic[-1]))
            await client.disconnect()


def workplace(directory: Path) -> Path:
    """Return the folder of a broker's data on a disk in this directory."""
    return directory / "disk" / "data"
