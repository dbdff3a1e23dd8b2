"""Wall and processor seconds of this process and all that it started, the JVM's workers too."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Cost:
    """What a block took."""

    seconds: float = 0.0
    processor_seconds: float = 0.0


@contextmanager
def measured() -> Iterator[Cost]:
    """Fill in the cost of the block when it ends."""
    cost = Cost()
    began, used = time.monotonic(), _processor_seconds()
    yield cost
    cost.seconds = time.monotonic() - began
    cost.processor_seconds = _processor_seconds() - used


def _processor_seconds() -> float:
    """Return the time of this process and its descendants, those that ended included.

    /proc/<pid>/stat: pid (name) state ppid ... utime stime cutime cstime, from the 14th on.
    """
    times: dict[int, tuple[int, int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        times[int(folder.name)] = (int(fields[1]), sum(map(int, fields[11:15])))
    total, waiting = 0, [os.getpid()]
    while waiting:
        process = waiting.pop()
        total += times.get(process, (0, 0))[1]
        waiting += [child for child, (parent, _) in times.items() if parent == process]
    return total / os.sysconf("SC_CLK_TCK")
