"""How long a thread of the broker waits for the interpreter while the event loop has it.

A thread that has done its part, an fsync for instance, needs the interpreter to say so. It asks for
it when it has waited for this long without a change; the event loop hands it over at the next place
where it may. But a loop that gives it up by itself, for a moment in each of its turns, and has it
again before the thread is awake, makes the thread wait from the start again: with half a
millisecond, and turns of a tenth, commits stood for 13 ms and longer. Python's own 5 ms are more
than most commits take.
"""

import sys
from typing import Final

SWITCH_SECONDS: Final = 0.000_02
"""Less than most turns of a busy loop; with the 50 microseconds by which Linux wakes sleepers late
it is the length of a short one. Each change costs some microseconds, and there is one only where a
thread waits, which is a few times a batch."""


def switch_quickly() -> None:
    """Have threads of this process wait for the interpreter no longer than that."""
    sys.setswitchinterval(SWITCH_SECONDS)
