"""A machine in a campaign: a disk, the processes that use it, and one power switch."""

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
"""Moments of power cuts while clients are busy, and the largest count of each.

A batch is a change or two and one fsync. Copying a checkpoint is hundreds of changes and two
fsyncs.
"""

STARTING = ((BEFORE_A_CHANGE, 40), (BEFORE_AN_FSYNC, 8), (AFTER_AN_FSYNC, 8))
"""Moments of power cuts while a process starts, and the largest count of each."""

SECONDS_BEFORE_CUT = (0.2, 1.5)
FSYNC_SECONDS = (0.0, 0.001, 0.005, 0.02)
"""From a fast disk to an SD card. The slower the disk, the more data are unsynced at any time."""

EARLY_CUTS = 0.15
"""The fraction of cuts that happen while processes start."""


WELL: dict[str, object] = {
    "read_fails": [],
    "write_fails": "",
    "fsync_fails": False,
    "short_writes": "",
    "short_reads": "",
    "failures_left": None,
}
"""A disk without any of the faults below."""

_READ_FAILS = [["/data/journal/*", 0, None], ["/data/log/*", 0, None]]

FAULTS: dict[str, dict[str, object]] = {
    "read": {"read_fails": _READ_FAILS},
    "write": {"write_fails": "/data/*"},
    "fsync": {"fsync_fails": True},
    "short": {"short_writes": "/data/journal/*", "short_reads": "/data/log/*"},
}
"""Temporary faults of a disk, by name.

SQLite treats a short write as a full disk, and an unreadable page as damage. So database files have
no such fault.
"""

FAULT_SECONDS = (0.02, 0.4)

READS_FAILED_AT_A_START_MAX = 3
"""Fewer than the attempts of a start."""

END_SECONDS = 0.5
"""The time after a fault within which an affected process has exited, or continues to run."""


class Powered(Protocol):
    """The processes of a machine."""

    def has_ended(self) -> bool:
        """Return True if a process that should be running has exited by itself."""

    def spawn(self) -> None:
        """Start the processes without waiting."""

    def await_ready(self) -> None:
        """Wait until the processes work. Raises AssertionError if they never do."""

    def die(self) -> None:
        """Kill all processes without waiting."""

    def bury(self) -> None:
        """Wait until the killed processes have ended."""


@dataclass
class Cut:
    """One cut, for the report."""

    seed: str
    at: str
    loss: dict[str, int]
    machines: str = ""
    """The machines that were cut together, if there are several."""

    start_seconds: float | None = None
    """The duration of the next start, or None if this start was cut as well."""

    def __str__(self) -> str:
        return f"cut {self.seed} at {self.at}: {self.loss}"


@dataclass
class Machine:
    """A disk and its processes. The disk is off at first.

    A lying disk lies from the second time it is switched on.
    """

    disk: MountedDisk
    subject: Powered
    is_lying: bool = False
    faults: tuple[str, ...] = ()
    """Names in FAULTS: temporary faults of the disk."""

    async def start(self) -> float:
        """Start the processes and wait until they work. Return the seconds that this took."""
        started = time.monotonic()
        self.subject.spawn()
        await asyncio.to_thread(self.subject.await_ready)
        if self.faults:
            await asyncio.to_thread(self.disk.set, **WELL)
        return time.monotonic() - started

    async def fail_for_a_while(self, dice: random.Random) -> bool:
        """Make the disk fail for a while, and restart processes that have exited.

        Return True if one had exited.
        """
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
            await asyncio.sleep(0.02)  # A process can only be polled.
        self.subject.die()
        await asyncio.to_thread(self.subject.bury)
        return True

    def arm(self, dice: random.Random, instants: tuple[tuple[str, int], ...]) -> None:
        """Arm a power cut at a random moment of `instants`."""
        instant, count_max = dice.choice(instants)
        self.disk.arm(instant, dice.randint(1, count_max), dice.uniform(*SECONDS_BEFORE_CUT))

    async def switch_on(self, dice: random.Random) -> None:
        """Switch the power on without starting processes."""
        seconds = dice.choice(FSYNC_SECONDS)
        more: dict[str, object] = {}
        if "read" in self.faults:
            left = dice.randint(0, READS_FAILED_AT_A_START_MAX)
            more = {"read_fails": _READ_FAILS, "failures_left": left}
        await asyncio.to_thread(
            self.disk.switch_on, fsync_seconds=seconds, is_lying=self.is_lying, **more
        )

    async def cut(self, seed: str) -> dict[str, int]:
        """Kill the processes and cut the disk's power. Return what was lost."""
        self.subject.die()
        loss = await asyncio.to_thread(self.disk.cut, seed)
        await asyncio.to_thread(self.subject.bury)
        return loss
