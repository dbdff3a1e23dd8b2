"""Limit on how long a thread of the broker waits for the interpreter lock.

A thread that has finished its work, such as an fsync, needs the lock to report it. It requests the
lock after waiting for the switch interval without a change of its holder, and the event loop then
releases it as soon as possible. But the event loop also releases the lock briefly in each of its
turns, and takes it back before the thread is awake, so that the thread must wait again. With an
interval of half a millisecond, and turns of a tenth, commits took 13 ms and longer. Python's
default of 5 ms is longer than most commits take.
"""

import sys
from typing import Final

SWITCH_SECONDS: Final = 0.000_02
"""Less than most turns of a busy loop; with the 50 microseconds by which Linux wakes sleepers late,
the length of a short one. Each switch costs some microseconds, and happens only when a thread
waits, which is a few times per batch."""


def switch_quickly() -> None:
    """Shorten the interpreter's switch interval for all threads of this process."""
    sys.setswitchinterval(SWITCH_SECONDS)
