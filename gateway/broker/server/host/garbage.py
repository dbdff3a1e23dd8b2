"""Settings for Python's garbage collector that limit its pauses to a few milliseconds.

Python frees almost all objects by reference counting, without the collector. Normally, a full
collection visits all objects. With 100,000 sessions or a million queued messages, this would pause
all clients for half a second. With these settings, an object that survives its first collection is
excluded from later ones. The drawback is that a reference cycle is never freed if it survives one
collection. Connections and sessions leave no cycles (a test counts them), and recovery creates
none.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

GARBAGE_OBJECTS: Final = 5_000
"""Number of new objects, minus freed ones, that starts a collection. Collecting this many takes 2
ms on a PC. The messages of a busy broker stay below this number."""

NEVER: Final = 1_000_000_000


@contextmanager
def ignored() -> Iterator[None]:
    """Disable the garbage collector within a `with` block.

    Recovery runs in such a block, because it creates no reference cycles that would have to be
    freed.
    """
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def watch() -> None:
    """Limit all later garbage collections to new objects. Each object is examined only once."""
    gc.freeze()
    gc.set_threshold(GARBAGE_OBJECTS, NEVER, NEVER)
    if _set_aside not in gc.callbacks:
        gc.callbacks.append(_set_aside)


def _set_aside(phase: str, _: dict[str, int]) -> None:
    if phase == "stop":
        gc.freeze()
