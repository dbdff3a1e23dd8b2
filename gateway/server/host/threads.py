"""How long a thread of the broker waits for the interpreter while the event loop has it.

A thread that has done its part, an fsync for instance, needs the interpreter to say so, and has
it at the latest when it asked for it for this long and the event loop comes by a place where it
may change hands. Python's own 5 ms are more than most commits take.
"""

import sys
from typing import Final

SWITCH_SECONDS: Final = 0.0005
"""About what a commit takes on a quick disk. Each change costs some microseconds, and there is one
only where a thread waits, which is a few times a batch."""


def switch_quickly() -> None:
    """Have threads of this process wait for the interpreter no longer than that."""
    sys.setswitchinterval(SWITCH_SECONDS)
