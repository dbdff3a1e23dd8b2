"""What a block took of this process and all that it started: time, processor, peak memory.

The JVM and Python's workers are looked at separately: each has a limit of its own.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

LOOK_SECONDS: Final = 0.25
"""Between two looks at the memory: shorter peaks may be missed."""


@dataclass
class Cost:
    """What a block took."""

    seconds: float = 0.0
    processor_seconds: float = 0.0
    driver_bytes_max: int = 0
    """Resident, of this process."""
    jvm_bytes_max: int = 0
    """Resident."""
    worker_bytes_max: int = 0
    """Resident, of the largest Python worker."""


class _Process(NamedTuple):
    parent: int
    name: str
    ticks: int
    """User and system, of children that ended and were waited for, too."""
    resident_bytes: int


@contextmanager
def measured() -> Iterator[Cost]:
    """Fill in the cost of the block when it ends."""
    cost, ended = Cost(), threading.Event()
    watcher = threading.Thread(target=_watch, args=(cost, ended), daemon=True)
    began, used = time.monotonic(), processor_seconds()
    watcher.start()
    try:
        yield cost
    finally:
        ended.set()
        watcher.join()
    cost.seconds = time.monotonic() - began
    cost.processor_seconds = processor_seconds() - used


def processor_seconds() -> float:
    """Return the time of this process and its descendants, those that ended included."""
    return sum(one.ticks for one in _family()) / os.sysconf("SC_CLK_TCK")


def _watch(cost: Cost, ended: threading.Event) -> None:
    while True:
        driver, *others = _family()
        cost.driver_bytes_max = max(cost.driver_bytes_max, driver.resident_bytes)
        for one in others:
            if one.name == "java":
                cost.jvm_bytes_max = max(cost.jvm_bytes_max, one.resident_bytes)
            elif one.name.startswith("python"):
                cost.worker_bytes_max = max(cost.worker_bytes_max, one.resident_bytes)
        if ended.wait(LOOK_SECONDS):
            return


def _family() -> list[_Process]:
    """Return this process, and then its descendants."""
    found = _processes()
    family, waiting = [], [os.getpid()]
    while waiting:
        process = waiting.pop()
        if process in found:
            family.append(found[process])
        waiting += [child for child, one in found.items() if one.parent == process]
    return family


def _processes() -> dict[int, _Process]:
    """Read all of /proc/<pid>/stat: pid (name) state ppid ... utime stime cutime cstime from the
    14th on, and the resident pages as the 24th."""
    found: dict[int, _Process] = {}
    page = os.sysconf("SC_PAGE_SIZE")
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text()
        except OSError:  # it has ended
            continue
        fields = text.rpartition(")")[2].split()
        name = text[text.index("(") + 1 : text.rindex(")")]
        ticks = sum(map(int, fields[11:15]))
        found[int(folder.name)] = _Process(int(fields[1]), name, ticks, int(fields[21]) * page)
    return found
