"""CPU scheduling: time slices, and which processes yield to the others.

Linux shares a core in slices of one to four milliseconds. A process that wakes up, because a packet
arrived or an fsync finished, waits until the running one's slice is over. Since Linux 6.12 a
process may request shorter slices. It gets the same share of CPU time, but gets it as soon as it
wakes up (sched_setattr(2), `sched_runtime` of SCHED_OTHER). On older kernels this has no effect.
"""

import ctypes
import os
import struct
from typing import Final

from gateway.process.system_calls import call

SHORT_TURN_NANOSECONDS: Final = 100_000
"""The minimum that Linux accepts, and about the length of a turn of the event loop."""

_USUAL: Final = 0
_THIS_THREAD: Final = 0
# linux/sched/types.h, the first version of struct sched_attr: size, policy, flags, nice, priority,
# runtime, deadline, period.
_ATTRIBUTES: Final = struct.Struct("=IIQiIQQQ")


def take_short_turns() -> None:
    """Request short time slices for the calling thread, and for threads and processes it starts.

    A process for which an operator has chosen another scheduling class is left unchanged. Raises
    OSError.
    """
    _take(SHORT_TURN_NANOSECONDS)


def take_usual_turns() -> None:
    """Restore the default time slices after inheriting short ones. Raises OSError."""
    _take(_USUAL)


def take_what_others_leave() -> None:
    """Yield to all other processes: leave the core as soon as one of them wakes up.

    Uses the class SCHED_IDLE (sched(7)), which an unprivileged process cannot leave again. It gets
    almost no CPU time while others keep all cores busy. Raises OSError.
    """
    os.sched_setscheduler(_THIS_THREAD, os.SCHED_IDLE, os.sched_param(0))


def turn_nanoseconds() -> int:
    """Return the requested time slice in nanoseconds; 0 if the kernel ignores it.

    Raises OSError.
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
