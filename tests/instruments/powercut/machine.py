"""A machine in a campaign: a disk, and the processes whose data lie on it. One power switch."""

import asyncio
import random
import time
from dataclasses import dataclass
from typing import Protocol

from tests.instruments.powercut.mounted_disk import (
    AFTER_AN_FSYNC,
    BEFORE_A_CHANGE,
    BEFORE_AN_FSYNC,
    MountedDisk,
)

BUSY = ((BEFORE_A_CHANGE, 400), (BEFORE_AN_FSYNC, 20), (AFTER_AN_FSYNC, 20))
"""Where the power goes while clients are busy, counted up to so many. A batch is a
change or two and one fsync; copying a checkpoint is hundreds of changes and two."""

STARTING = ((BEFORE_A_CHANGE, 40), (BEFORE_AN_FSYNC, 8), (AFTER_AN_FSYNC, 8))
"""The same for a process on its way up."""

SECONDS_BEFORE_CUT = (0.2, 1.5)
FSYNC_SECONDS = (0.0, 0.001, 0.005, 0.02)
"""From a fast disk to an SD card: the slower, the more is unsynced at any instant."""

EARLY_CUTS = 0.15
"""The share of cuts that meet processes on their way up."""


WELL: dict[str, object] = {
    "read_fails": [],
    "write_fails": "",
    "fsync_fails": False,
    "short_writes": "",
    "short_reads": "",
    "failures_left": None,
}
"""A disk that has none of the faults below."""

_READ_FAILS = [["/data/journal/*", 0, None], ["/data/log/*", 0, None]]

FAULTS: dict[str, dict[str, object]] = {
    "read": {"read_fails": _READ_FAILS},
    "write": {"write_fails": "/data/*"},
    "fsync": {"fsync_fails": True},
    "short": {"short_writes": "/data/journal/*", "short_reads": "/data/log/*"},
}
"""What may be wrong with a disk for a while. SQLite takes a short write for a full disk, and a page
that it cannot read for damage: files of databases have neither here."""

FAULT_SECONDS = (0.02, 0.4)

READS_FAILED_AT_A_START_MAX = 3
"""Fewer than a start tries again."""

END_SECONDS = 0.5
"""After a fault: what met it has ended by then, or goes on."""


class Powered(Protocol):
    """What runs on a machine."""

    def has_ended(self) -> bool:
        """Whether a process that is to go on has ended by itself."""

    def spawn(self) -> None:
        """Start and wait for nothing."""

    def await_ready(self) -> None:
        """Wait until it does its work; AssertionError where that does not come."""

    def die(self) -> None:
        """Kill everything, wait for nothing."""

    def bury(self) -> None:
        """Wait for what was killed."""


@dataclass
class Cut:
    """One cut, for the report."""

    seed: str
    at: str
    loss: dict[str, int]
    machines: str = ""
    """What was cut together, where there are several."""

    start_seconds: float | None = None
    """How long the start after it took; None where that start was cut as well."""

    def __str__(self) -> str:
        return f"cut {self.seed} at {self.at}: {self.loss}"


@dataclass
class Machine:
    """The disk is off at first; it lies, if it does, from the second time it is switched on."""

    disk: MountedDisk
    subject: Powered
    is_lying: bool = False
    faults: tuple[str, ...] = ()
    """Keys of FAULTS: what its disk has for a while now and then."""

    async def start(self) -> float:
        """Start what runs on it and wait until it does its work; how many seconds that took."""
        started = time.monotonic()
        self.subject.spawn()
        await asyncio.to_thread(self.subject.await_ready)
        if self.faults:
            await asyncio.to_thread(self.disk.set, **WELL)
        return time.monotonic() - started

    async def fail_for_a_while(self, dice: random.Random) -> bool:
        """Have the disk fail, be well again, and start again what ended of it; whether it did."""
        fault = dict(FAULTS[dice.choice(self.faults)])
        if dice.random() < 0.5:
            fault["failures_left"] = dice.randint(1, 5)
        await asyncio.to_thread(self.disk.set, **fault)
        await asyncio.sleep(dice.uniform(*FAULT_SECONDS))
        await asyncio.to_thread(self.disk.set, **WELL)
        deadline = time.monotonic() + END_SECONDS
        while not self.subject.has_ended():
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(0.02)  # A process can only be asked again.
        self.subject.die()
        await asyncio.to_thread(self.subject.bury)
        return True

    def arm(self, dice: random.Random, instants: tuple[tuple[str, int], ...]) -> None:
        """Have the power go at one of these instants."""
        instant, count_max = dice.choice(instants)
        self.disk.arm(instant, dice.randint(1, count_max), dice.uniform(*SECONDS_BEFORE_CUT))

    async def switch_on(self, dice: random.Random) -> None:
        """Give it power again; nothing is started yet."""
        seconds = dice.choice(FSYNC_SECONDS)
        more: dict[str, object] = {}
        if "read" in self.faults:
            left = dice.randint(0, READS_FAILED_AT_A_START_MAX)
            more = {"read_fails": _READ_FAILS, "failures_left": left}
        await asyncio.to_thread(
            self.disk.switch_on, fsync_seconds=seconds, is_lying=self.is_lying, **more
        )

    async def cut(self, seed: str) -> dict[str, int]:
        """Kill what runs, throw the dice about its disk; what was lost."""
        self.subject.die()
        loss = await asyncio.to_thread(self.disk.cut, seed)
        await asyncio.to_thread(self.subject.bury)
        return loss
