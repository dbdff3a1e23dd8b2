"""CPU and I/O priorities of `oncegate upload`, which are lower than those of the broker.

A slow upload does no harm, but clients wait for each commit of the broker. The systemd unit
(image/systemd/oncegate-upload.service) sets the same values, because a process of this unit is not
allowed to change its own priority. If the process already has these priorities, nothing is changed.

The I/O priority is the lowest in the best-effort class. The idle class is not used, because an idle
process can be delayed for seconds. Both processes share the file system's journal, so a commit of
the broker might have to wait for data from this process. Among the kernel's I/O schedulers, only
BFQ uses this priority.
"""

from __future__ import annotations

import logging
import os
import sys
from typing import Final

from gateway.process.files.disk_errors import line_of
from gateway.process.system_calls import call

NICENESS: Final = 10
"""Nice value, from -20 to 19. A process at 10 gets a tenth of the CPU time of a process at 0."""

IO_CLASS_BEST_EFFORT: Final = 2
IO_LEVEL: Final = 7
"""Level in the best-effort class, from 0 (first) to 7 (last)."""

_CLASS_SHIFT: Final = 13
_WHO_PROCESS: Final = 1
_THIS_THREAD: Final = 0

logger = logging.getLogger(__name__)


def lower_priority() -> None:
    """Lower the priorities of the calling thread, and of threads that it starts.

    If the system does not allow this, a warning is logged and the priorities are unchanged.
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        missing = NICENESS - os.getpriority(os.PRIO_PROCESS, _THIS_THREAD)
        if missing > 0:
            os.nice(missing)
        if io_priority_of(_THIS_THREAD) != (IO_CLASS_BEST_EFFORT, IO_LEVEL):
            _set_io_priority(IO_CLASS_BEST_EFFORT, IO_LEVEL)
    except OSError as problem:
        logger.warning("the uploader cannot lower its priority: %s", line_of(problem))


def io_priority_of(thread: int) -> tuple[int, int]:
    """Return the class and level of a thread's I/O priority. Thread 0 is the calling thread.

    Raises OSError if the system call fails.
    """
    priority = call("ioprio_get", _WHO_PROCESS, thread, 0)
    return priority >> _CLASS_SHIFT, priority & ((1 << _CLASS_SHIFT) - 1)


def _set_io_priority(io_class: int, level: int) -> None:
    call("ioprio_set", _WHO_PROCESS, _THIS_THREAD, io_class << _CLASS_SHIFT | level)
