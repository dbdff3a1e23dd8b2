"""Sets the CPU scheduling of a process: shorter time slices, or yielding to all other processes.

Linux divides the time of a core into slices of one to four milliseconds. A process that wakes up,
because a packet arrived or an fsync finished, must wait until the running process's slice ends.
Since Linux 6.12 a process can request shorter slices. It then gets the same share of CPU time, but
runs as soon as it wakes up (sched_setattr(2), `sched_runtime` of SCHED_OTHER). On older kernels,
the request has no effect.
"""

import ctypes
import os
import struct
from typing import Final

from gateway.process.system_calls import call

SHORT_TURN_NANOSECONDS: Final = 100_000
"""The shortest slice that Linux accepts, and about the time of one iteration of the event loop."""

_USUAL: Final = 0
_THIS_THREAD: Final = 0
# linux/sched/types.h, the first version of struct sched_attr: size, policy, flags, nice, priority,
# runtime, deadline, period.
_ATTRIBUTES: Final = struct.Struct("=IIQiIQQQ")


def take_short_turns() -> None:
    """Request short CPU time slices for the calling thread.

    Threads and processes that it starts inherit the request. If the operator has set another
    scheduling class, nothing is changed. Raises OSError if the kernel refuses.
    """
    _take(SHORT_TURN_NANOSECONDS)


def take_usual_turns() -> None:
    """Restore the default CPU time slices, after the process has inherited short ones.

    Raises OSError if the kernel refuses.
    """
    _take(_USUAL)


def yield_to_others() -> None:
    """Make this process yield its core as soon as another process wakes up.

    This uses the scheduling class SCHED_IDLE (sched(7)). An unprivileged process cannot return to
    its previous class. While other processes keep all cores busy, this process gets almost no CPU
    time. Raises OSError if the kernel refuses.
    """
    os.sched_setscheduler(_THIS_THREAD, os.SCHED_IDLE, os.sched_param(0))


def turn_nanoseconds() -> int:
    """Return the CPU time slice that was requested, in nanoseconds, or 0 for the default.

    Raises OSError if the kernel refuses.
    """
    attributes = ctypes.create_string_buffer(_ATTRIBUTES.size)
    call("sched_getattr", _THIS_THREAD, attributes, _ATTRIBUTES.size, 0)
    return int(_ATTRIBUTES.unpack(attributes.raw)[5])


def _take(nanoseconds: int) -> None:
    policy = os.sched_getscheduler(_THIS_THREAD)
    if policy != os.SCHED_OTHER:
        return
    niceness = os.getpriority(os.PRIO_PROCESS, _THIS_THREAD)
    data = _ATTRIBUTES.pack(_ATTRIBUTES.size, policy, 0, niceness, 0, nanoseconds, 0, 0)
    call("sched_setattr", _THIS_THREAD, ctypes.create_string_buffer(data, len(data)), 0)
