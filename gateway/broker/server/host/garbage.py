"""Limits for Python's garbage collector: a pause of a few milliseconds, however many objects exist.

Almost everything is freed by reference counts. A collection visits all objects that it has not seen
before, so objects seen once are set aside for good; otherwise 100,000 sessions or a million queued
messages would pause all clients for half a second. The price is that a cycle which survives one
collection is never freed. Connections and sessions leave no cycles (a test counts them), and
recovery creates none.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

GARBAGE_OBJECTS: Final = 5_000
"""New objects, minus freed ones, before cycles are searched: a collection of this many takes 2 ms
on a PC, and a busy broker's messages stay below that number."""

NEVER: Final = 1_000_000_000


@contextmanager
def ignored() -> Iterator[None]:
    """Disable garbage collection during a recovery, which creates no garbage."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def watch() -> None:
    """From now on, collect only new objects, and each object only once."""
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS, NEVER, NEVER)
    if _set_aside not in gc.callbacks:
        gc.callbacks.append(_set_aside)


def _set_aside(phase: str, _: dict[str, int]) -> None:
    if phase == "stop":
        gc.freeze()
