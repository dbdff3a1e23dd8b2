"""What Python's garbage collector may cost: a few milliseconds at a time, however much is kept.

Almost everything goes by reference counts. A collection walks over all objects that it has not
come to know before, so what it has seen once is set aside for good: 100,000 sessions or a million
queued messages would otherwise make all clients wait for half a second. The price is that a cycle
which lives longer than one collection is never found; connections and sessions leave none (a test
counts them), and a recovery makes none.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

GARBAGE_OBJECTS: Final = 5_000
"""Objects that may be made, above those that were freed, before cycles are looked for: a collection
of as many takes 2 ms on a PC, and a busy broker's messages come and go below that number."""

NEVER: Final = 1_000_000_000


@contextmanager
def ignored() -> Iterator[None]:
    """Switch garbage collection off during a recovery: nothing it makes is garbage."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def watch() -> None:
    """Let the collector look at new objects only, once each, from now on."""
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS, NEVER, NEVER)
    if _set_aside not in gc.callbacks:
        gc.callbacks.append(_set_aside)


def _set_aside(phase: str, _: dict[str, int]) -> None:
    if phase == "stop":
        gc.freeze()
