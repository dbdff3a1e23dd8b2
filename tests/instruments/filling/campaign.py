"""Broker, uploader and bridge on a small disk that another program fills and empties ten times.

Every other time the disk is filled in one step, otherwise block by block. While it is full, space
that our processes free is filled as well. No process may exit, and no acknowledged message may be
lost or doubled. All processes must resume by themselves.
"""

import asyncio
import contextlib
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.bridge.terminal import Terminal
from tests.instruments.filling.publishers import (
    LoadPublisher,
    LoadSubscriber,
    Publisher5,
    Publisher311,
)
from tests.instruments.powercut.bridge_process import BridgeProcess
from tests.instruments.powercut.clients import Verdict
from tests.instruments.powercut.readings import END_TOPIC, ReadingsSubscriber, judge
from tests.instruments.powercut.sensors import Board, Sensor, Talker
from tests.instruments.powercut.subjects import CutUploader
from tests.peers.byte_client import ByteClient
from tests.small_disk import SmallDisk
from tests.system.broker_process import BrokerProcess

DISK_BYTES = 48 << 20
"""Enough for the minimum, the reserves of three processes, and some seconds of load."""

BLOCKS_BYTES = 64 << 10
"""Bytes per step when the disk is filled block by block."""

FULL_SECONDS = 3.0
"""Seconds for which the disk stays full."""

RESUME_SECONDS = 30.0
"""Seconds within which all processes must resume."""

RESUMED_MESSAGES = 20
"""Acknowledgements after which a client counts as resumed."""

DRAIN_SECONDS = 60.0
SETTINGS = '[mqtt]\nmax_mqueue_len = 1_000_000\nmax_mqueue_bytes = "1GiB"\n'
PORTS = (("patient", "board"), ("eager", "board"), ("talker", "json"))


@dataclass
class Fill:
    """One time that the disk was full."""

    immediately: bool
    removed: dict[str, int] = field(default_factory=dict)
    resumed_seconds: float = 0.0


class FillCampaign:
    """The campaign. `fills` and `verdict` grow while it runs. The caller must call `remove`."""

    def __init__(self, disk: SmallDisk, directory: Path, seed: int) -> None:
        self.disk = disk
        self.fills: list[Fill] = []
        self.verdict = Verdict()
        self.broker = BrokerProcess(SETTINGS, data_directory=disk.folder / "b")
        log = self.broker.directory / "uploader.log"
        log.touch()
        self.uploader_log = log
        self.uploader = CutUploader(disk.folder / "b", log)
        links = {name: directory / name for name, _ in PORTS}
        serial = "".join(
            f'[[serial]]\nname = "{name}"\npath = "{links[name]}"\nframing = "{framing}"\n'
            for name, framing in PORTS
        )
        self.bridge = BridgeProcess(disk.folder / "g", self.broker.port, serial)
        self.terminals = [Terminal(link) for link in links.values()]
        patient, eager, talker = self.terminals
        self.boards = [
            Board(patient, 1, window=1, interval_seconds=0.02),
            Board(eager, 2, window=16, interval_seconds=0.01),
        ]
        self.talker = Talker(talker, "talker", interval_seconds=0.02)
        self.sensors: list[Sensor] = [*self.boards, self.talker]
        self.publishers: list[LoadPublisher] = [
            Publisher311(self.broker.port, "old"),
            Publisher5(self.broker.port, "new"),
        ]
        self.load = LoadSubscriber(self.broker.port)
        source = random.Random(f"{seed}/subscriber")  # noqa: S311
        self.readings = ReadingsSubscriber(self.broker.port, source, self.verdict)

    async def run(self, fill_count: int, report: Callable[[], None]) -> None:
        """Fill and empty the disk `fill_count` times, let everything arrive, and judge."""
        await asyncio.to_thread(self.broker.start)
        self.uploader.start()
        async with asyncio.TaskGroup() as tasks:
            receiving = [tasks.create_task(each.run()) for each in (self.load, self.readings)]
            await self.load.is_subscribed.wait()
            await self.readings.is_subscribed.wait()
            self.bridge.spawn()
            await asyncio.to_thread(self.bridge.await_connected)
            sensing = [tasks.create_task(each.run()) for each in self.sensors]
            publishing = [tasks.create_task(each.run()) for each in self.publishers]
            await self._resumed()
            for number in range(fill_count):
                await self._fill(Fill(immediately=number % 2 == 1))
                report()
            await self._finish(publishing)
            await asyncio.gather(*receiving)
            for task in sensing:
                task.cancel()
        self._judge()

    async def _fill(self, fill: Fill) -> None:
        filling = asyncio.create_task(
            asyncio.to_thread(self._fill_disk, immediately=fill.immediately)
        )
        await self._until(lambda status: status["disk"]["full"], "a full disk")
        await filling
        self._require_alive()
        self.disk.empty()
        emptied = time.monotonic()
        await self._resumed()
        fill.resumed_seconds = time.monotonic() - emptied
        fill.removed = (await self._status())["disk"]["removed"]
        self.fills.append(fill)

    def _fill_disk(self, *, immediately: bool) -> None:
        if not immediately:
            while self.disk.grow(BLOCKS_BYTES):
                time.sleep(0.001)  # leaves time for our processes, like a real program that writes
        deadline = time.monotonic() + FULL_SECONDS
        while time.monotonic() < deadline:
            self.disk.fill()
            time.sleep(0.01)

    async def _resumed(self) -> None:
        """Wait until each publisher and board has received RESUMED_MESSAGES acknowledgements."""
        before = self._progress()
        deadline = time.monotonic() + RESUME_SECONDS
        while True:
            now = self._progress()
            if all(
                after - each >= RESUMED_MESSAGES for each, after in zip(before, now, strict=True)
            ):
                break
            assert time.monotonic() < deadline, (
                f"acknowledged {before}, {RESUME_SECONDS} s later {now}: {self._said()}"
            )
            await asyncio.sleep(0.05)
        self._require_alive()
        await self._until(lambda status: not status["disk"]["full"], "room")

    def _progress(self) -> list[int]:
        return [len(each.acknowledged) for each in self.publishers] + [
            len(each.accepted) for each in self.boards
        ]

    async def _status(self) -> Any:
        return await asyncio.to_thread(self.broker.ask, "status")

    async def _until(self, holds: Callable[[Any], bool], what: str) -> None:
        deadline = time.monotonic() + RESUME_SECONDS
        while not holds(await self._status()):
            assert time.monotonic() < deadline, f"waited for {what}: {self._said()}"
            await asyncio.sleep(0.05)

    def _require_alive(self) -> None:
        assert self.broker.is_running, f"the broker ended: {self._said()}"
        assert not self.bridge.has_ended(), f"the bridge ended: {self._said()}"
        assert self.uploader.is_running, f"the uploader ended: {self._said()}"
        assert "Traceback" not in self._said(), self._said()

    def _said(self) -> str:
        logs = (self.broker.standard_error(), self.bridge.log(), self.uploader_log.read_text())
        return "\n".join(log[-3_000:] for log in logs)

    async def _finish(self, publishing: list["asyncio.Task[None]"]) -> None:
        for publisher in self.publishers:
            publisher.is_stopped = True
        await asyncio.gather(*publishing)
        for sensor in self.sensors:
            sensor.stop_measuring()
        async with asyncio.timeout(DRAIN_SECONDS):
            for board in self.boards:
                await board.wait_until_done()
            while await asyncio.to_thread(self.bridge.readings_waiting):  # noqa: ASYNC110
                await asyncio.sleep(0.1)  # a process can only be polled
        assert await asyncio.to_thread(self.bridge.stop) == 0, self._said()
        client = await ByteClient.open(self.broker.port)
        async with client:
            await client.connect("the end")
            await client.deliver(END_TOPIC, b"1", qos=2)
            await client.deliver("load/end", b"", qos=2)
            await client.disconnect()

    def _judge(self) -> None:
        judge(self.boards, self.talker, self.readings.readings, self.verdict)
        # On a full disk an unacknowledged line is lost. It has a number, so it would count as a
        # gap.
        self.verdict.gaps = 0
        self.verdict.notes = [note for note in self.verdict.notes if " gaps, " not in note]
        for publisher in self.publishers:
            received = self.load.received.get(publisher.topic, [])
            self.verdict.acknowledged += len(publisher.acknowledged)
            lost = set(publisher.acknowledged) - set(received)
            self.verdict.lost += len(lost)
            self.verdict.doubled += len(received) - len(set(received))
            self.verdict.disordered += received != sorted(received)
            if lost:
                self.verdict.note(f"{publisher.name}: lost {sorted(lost)[:20]}")

    def remove(self) -> None:
        """Stop all processes and remove the terminals."""
        with contextlib.ExitStack() as ends:
            for terminal in self.terminals:
                ends.callback(terminal.unplug)
            ends.callback(self.broker.remove)
            ends.callback(self.uploader.kill)
            ends.callback(self.bridge.remove)
