"""The cost of a block for this process and its descendants: time, processor time, peak memory.

The memory of the JVM and of Python's workers is reported separately, because each has a limit.
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

CHECK_SECONDS: Final = 0.25
"""Seconds between two measurements of memory: shorter peaks may be missed."""


@dataclass
class Cost:
    """The cost of a block."""

    seconds: float = 0.0
    processor_seconds: float = 0.0
    driver_bytes_max: int = 0
    """The peak resident memory of this process."""
    jvm_bytes_max: int = 0
    """The peak resident memory of the JVM."""
    worker_bytes_max: int = 0
    """The peak resident memory of the largest Python worker."""


class _Process(NamedTuple):
    parent: int
    name: str
    ticks: int
    """User and system time in clock ticks, including that of waited-for children."""
    resident_bytes: int


@contextmanager
def measured() -> Iterator[Cost]:
    """Yield a `Cost` whose fields are set when the block ends."""
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
    """Return the processor seconds of this process and its descendants, exited ones included."""
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
        if ended.wait(CHECK_SECONDS):
            return


def _family() -> list[_Process]:
    """Return this process, followed by its descendants."""
    found = _processes()
    family, waiting = [], [os.getpid()]
    while waiting:
        process = waiting.pop()
        if process in found:
            family.append(found[process])
        waiting += [child for child, one in found.items() if one.parent == process]
    return family


def _processes() -> dict[int, _Process]:
    """Read /proc/<pid>/stat of all processes.

    The fields are: pid (name) state ppid, then utime, stime, cutime and cstime from the 14th on,
    and the resident pages as the 24th.
    """
    found: dict[int, _Process] = {}
    page = os.sysconf("SC_PAGE_SIZE")
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text()
        except OSError:  # the process has exited
            continue
        fields = text.rpartition(")")[2].split()
        name = text[text.index("(") + 1 : text.rindex(")")]
        ticks = sum(map(int, fields[11:15]))
        found[int(folder.name)] = _Process(int(fields[1]), name, ticks, int(fields[21]) * page)
    return found
