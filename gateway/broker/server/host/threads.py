"""Limits how long a thread of the broker waits for the interpreter lock.

A thread that has finished its work, such as an fsync, needs the lock to report the result. It
requests the lock if the lock has not changed hands for the length of the switch interval. The event
loop then releases the lock as soon as possible. However, the event loop also releases the lock
briefly in each iteration. It takes the lock back before the thread is awake, so the thread must
wait for the whole interval again. With an interval of 0.5 ms and iterations of 0.05 ms, commits
took 13 ms and longer. Python's default of 5 ms is longer than most commits take.
"""

import sys
from typing import Final

SWITCH_SECONDS: Final = 0.000_02
"""The interpreter's switch interval. It is shorter than most iterations of a busy event loop.
Together with the 50 microseconds by which Linux wakes threads late, it is as long as a short
iteration. A switch costs some microseconds and happens only when a thread waits, a few times per
batch."""


def switch_quickly() -> None:
    """Shorten the interpreter's switch interval for all threads of this process."""
    sys.setswitchinterval(SWITCH_SECONDS)
