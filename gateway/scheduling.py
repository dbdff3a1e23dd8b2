"""Who has a core: how long a program keeps it, and what gives way to all others.

Linux shares a core fairly, in turns of one to four milliseconds: who has slept, because a packet or
an fsync was awaited, waits until the turn of the one that runs is over. Since Linux 6.12 a program
may ask for shorter turns of its own. It gets as much of the core as before, and gets it when it
wakes up (sched_setattr(2), `sched_runtime` of SCHED_OTHER). An older kernel changes nothing.
"""

import ctypes
import os
import struct
from typing import Final

from gateway.system_calls import call

SHORT_TURN_NANOSECONDS: Final = 100_000
"""The least that Linux takes, and about what a turn of the event loop lasts."""

_USUAL: Final = 0
_THIS_THREAD: Final = 0
# linux/sched/types.h, the first version of struct sched_attr: size, policy, flags, nice, priority,
# runtime, deadline, period.
_ATTRIBUTES: Final = struct.Struct("=IIQiIQQQ")


def take_short_turns() -> None:
    """Ask for them, for the calling thread and those that it starts.

    A program that an operator has put into another class than the usual one stays there. Raises
    OSError.
    """
    _take(SHORT_TURN_NANOSECONDS)


def take_usual_turns() -> None:
    """Give up those that were inherited. Raises OSError."""
    _take(_USUAL)


def take_what_others_leave() -> None:
    """Give way to all other programs: to be taken off a core as soon as one of them wakes up.

    In the class SCHED_IDLE (sched(7)), which a program without rights cannot leave again. Where
    others keep all cores busy it comes to next to nothing. Raises OSError.
    """
    os.sched_setscheduler(_THIS_THREAD, os.SCHED_IDLE, os.sched_param(0))


def turn_nanoseconds() -> int:
    """Return what was asked for; 0 where the kernel keeps nothing of it. Raises OSError."""
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
