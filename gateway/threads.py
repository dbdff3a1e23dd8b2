"""What the gateway's threads have in common."""

import os
import sys

BACKGROUND_NICENESS = 10


def give_way() -> None:
    """Let the calling thread run when no other of the process wants the core.

    For the initializer of an executor whose results no client waits for closely.
    """
    if sys.platform == "linux":  # elsewhere the whole process would give way
        os.nice(BACKGROUND_NICENESS)
