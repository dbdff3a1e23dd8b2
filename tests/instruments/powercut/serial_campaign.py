"""A campaign along the serial line, with cuts of sensors' boards, bridge and broker.

Bridge and broker have a disk each, so that the power can be cut for one of them alone. If it is cut
for both, the second machine goes dark some milliseconds after the first. In between, the second
machine behaves as it would next to a machine that is cut alone. Cuts of one machine cover all
longer delays. The sensors have separate power and continue. Sometimes the boards' power is cut as
well.
"""

import asyncio
import contextlib
import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.bridge.terminal import Terminal
from tests.instruments.powercut.bridge_process import BridgeProcess
from tests.instruments.powercut.campaign import workplace
from tests.instruments.powercut.clients import Verdict
from tests.instruments.powercut.machine import BUSY, EARLY_CUTS, STARTING, Cut, Machine
from tests.instruments.powercut.mounted_disk import MountedDisk
from tests.instruments.powercut.readings import END_TOPIC, ReadingsSubscriber, judge
from tests.instruments.powercut.sensors import Board, Sensor, Talker
from tests.instruments.powercut.subjects import Oncegate
from tests.peers.byte_client import ByteClient

BOARDS_CUT_TOO = 0.3
"""The fraction of bridge cuts that also cut the power of its boards."""

TOGETHER_AND_ALONE = (("broker", "bridge"), ("bridge", "broker"), ("broker",), ("bridge",))
"""The machines of a cut. The disk of the first one triggers it."""

CONNECTED_CUTS = 0.7
"""The fraction of cuts while the bridge is connected. Other cuts may happen without a broker."""

DRAIN_DEADLINE_SECONDS = 60.0

BROKER_SETTINGS = '[mqtt]\nmax_mqueue_len = 1_000_000\nmax_mqueue_bytes = "1GiB"'
"""A full outbox is sent faster than a test's subscriber can receive, and no queue may overflow."""

PORTS = (("patient", "board"), ("eager", "board"), ("talker", "json"))
"""Names of the serial ports, and their framings."""


@dataclass
class SerialCampaign:
    """A campaign. `verdict` and `cuts` grow while it runs. The caller must call `remove`."""

    broker_disk: MountedDisk
    bridge_disk: MountedDisk
    seed: int
    cut_count: int
    is_lying: bool = False
    """True if the bridge's disk lies."""

    faults: tuple[str, ...] = ()
    """Temporary faults of the disks between the cuts (`machine.FAULTS`)."""

    faults_met: Counter[str] = field(default_factory=Counter)
    verdict: Verdict = field(default_factory=Verdict)
    cuts: list[Cut] = field(default_factory=list)
    start_seconds: dict[str, list[float]] = field(default_factory=dict)
    is_counted: bool = False
    """True if the run was completed, after which losses are counted."""

    def __post_init__(self) -> None:
        self.broker = Oncegate(workplace(self.broker_disk.directory), BROKER_SETTINGS)
        links = {name: self.bridge_disk.directory / name for name, _ in PORTS}
        serial = "".join(
            f'[[serial]]\nname = "{name}"\npath = "{links[name]}"\nframing = "{framing}"\n'
            for name, framing in PORTS
        )
        # Every other campaign uses a commit delay, as on a card, so that frames share a commit.
        self.bridge = BridgeProcess(
            workplace(self.bridge_disk.directory),
            self.broker.port,
            serial,
            commit_delay="50ms" if self.seed % 2 else "0s",
        )
        self.subjects: dict[str, Oncegate | BridgeProcess] = {
            "broker": self.broker,
            "bridge": self.bridge,
        }
        self.machines = {
            "broker": Machine(self.broker_disk, self.broker, faults=self.faults),
            "bridge": Machine(self.bridge_disk, self.bridge, self.is_lying, self.faults),
        }
        self.terminals = [Terminal(link) for link in links.values()]
        patient, eager, talker = self.terminals
        self.boards = [
            Board(patient, 1, window=1, interval_seconds=0.01),
            Board(eager, 2, window=16, interval_seconds=0.005),
        ]
        self.talker = Talker(talker, "talker", interval_seconds=0.01)
        self.sensors: list[Sensor] = [*self.boards, self.talker]
        source = random.Random(f"{self.seed}/subscriber")  # noqa: S311
        self.subscriber = ReadingsSubscriber(self.broker.port, source, self.verdict)

    async def run(self, report: Callable[[], None]) -> None:
        """Cut repeatedly, let everything arrive, and judge. Both machines run at the end."""
        for machine in self.machines.values():
            machine.disk.switch_on()
        await self._start("broker", "bridge")
        # The files of the first start are safe. From now on the disk lies, if it is a lying one.
        self.bridge_disk.set(is_lying=self.is_lying)
        async with asyncio.TaskGroup() as tasks:
            receiving = tasks.create_task(self.subscriber.run())
            await self.subscriber.is_subscribed.wait()
            sensing = [tasks.create_task(each.run()) for each in self.sensors]
            for number in range(1, self.cut_count + 1):
                await self._cut_and_start(number)
                report()
            await self._finish()
            await receiving
            for task in sensing:
                task.cancel()
        judge(self.boards, self.talker, self.subscriber.readings, self.verdict)
        self.is_counted = True

    def story(self) -> str:
        """Return the findings, and the last cuts before them."""
        where = f"{self.broker_disk.directory} and {self.bridge_disk.directory}"
        lines = [f"seed {self.seed}, media of the last cuts in {where}"]
        lines += [str(cut) for cut in self.cuts[-3:]]
        return "\n".join(lines + self.verdict.notes)

    def remove(self) -> None:
        """Stop all processes and remove all terminals."""
        # Each is removed even if another one fails.
        with contextlib.ExitStack() as ends:
            for terminal in self.terminals:
                ends.callback(terminal.unplug)
            ends.callback(self.bridge.remove)
            ends.callback(self.broker.remove)

    async def _start(self, *names: str) -> float:
        """Start these machines in parallel. Return the seconds of the slowest start."""
        seconds = await asyncio.gather(*(self.machines[name].start() for name in names))
        for name, took in zip(names, seconds, strict=True):
            self.start_seconds.setdefault(name, []).append(took)
        for name in names:
            damage = await asyncio.to_thread(self.subjects[name].damage)
            if damage is not None:
                self.verdict.damaged += 1
                self.verdict.note(f"{name}: {damage}")
        return max(seconds)

    async def _cut_and_start(self, number: int) -> None:
        dice = random.Random(f"{self.seed}/{number}")  # noqa: S311
        # Only the bridge's disk lies: more lies on the broker's side would show nothing new.
        names = ("bridge",) if self.is_lying else dice.choice(TOGETHER_AND_ALONE)
        if dice.random() < CONNECTED_CUTS:
            await asyncio.to_thread(self.bridge.await_connected)
        if self.faults:
            name = dice.choice(tuple(self.machines))
            self.faults_met[f"faults of the {name}'s disk"] += 1
            if await self.machines[name].fail_for_a_while(dice):
                self.faults_met[f"{name} ended"] += 1
                await self._start(name)
        self.machines[names[0]].arm(dice, BUSY)
        await self._cut(names, dice, f"{self.seed}/{number}")
        while dice.random() < EARLY_CUTS:
            await self._switch_on(names, dice)
            self.machines[names[0]].arm(dice, STARTING)
            for name in names:
                self.machines[name].subject.spawn()
            await self._cut(names, dice, f"{self.seed}/{number}/early")
        await self._switch_on(names, dice)
        self.cuts[-1].start_seconds = await self._start(*names)

    async def _switch_on(self, names: tuple[str, ...], dice: random.Random) -> None:
        for name in names:
            await self.machines[name].switch_on(dice)

    async def _cut(self, names: tuple[str, ...], dice: random.Random, seed: str) -> None:
        """Wait until the first of the machines is dark, and cut all of them."""
        at = await asyncio.to_thread(self.machines[names[0]].disk.await_dark)
        for name in names:
            self.machines[name].subject.die()
        if "bridge" in names and dice.random() < BOARDS_CUT_TOO:
            for board in self.boards:
                board.restart()
        for name in names:
            loss = await self.machines[name].cut(f"{seed}/{name}")
            self.cuts.append(Cut(f"{seed}/{name}", at, loss, "+".join(sorted(names))))

    async def _finish(self) -> None:
        """Stop the sensors, empty the outbox, and let the subscriber receive the last message."""
        for sensor in self.sensors:
            sensor.stop_measuring()
        async with asyncio.timeout(DRAIN_DEADLINE_SECONDS):
            for board in self.boards:
                await board.wait_until_done()
        left = await asyncio.to_thread(self.bridge.readings_waiting)
        while left:
            # The outbox may be long, but it must become shorter.
            deadline = time.monotonic() + DRAIN_DEADLINE_SECONDS
            before = left
            while left and left >= before:
                assert time.monotonic() < deadline, f"{left} readings stay in the outbox"
                await asyncio.sleep(0.1)  # A process can only be polled.
                left = await asyncio.to_thread(self.bridge.readings_waiting)
        assert await asyncio.to_thread(self.bridge.stop) == 0, self.bridge.log()[-2000:]
        assert await asyncio.to_thread(self.bridge.readings_waiting) == 0
        client = await ByteClient.open(self.broker.port)
        async with client:
            await client.connect("the end")
            await client.deliver(END_TOPIC, b"1", qos=2)
            await client.disconnect()
