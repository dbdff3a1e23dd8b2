"""Replaces everything that would make two runs differ: clocks, random numbers, addresses.

Wall time and monotonic time come from the running virtual loop. The end of a slice of a checkpoint
or an eviction is random, from the run's seed. Sets of the core's objects are iterated in the order
of numbers instead of addresses. Sizes that only matter under load are made small, so that pages,
chunks and checkpoints occur in a run of some seconds.
"""

import asyncio
import logging
import random
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from unittest import mock

from gateway.broker.core import effects
from gateway.broker.core.rules.deliver import deliver
from gateway.broker.core.rules.subscribe import retained
from gateway.broker.core.sessions.session import Session
from gateway.broker.server.commit import batch_writer, checkpoints
from gateway.broker.server.host import clock
from gateway.broker.store import checkpoint, checkpointing, journal, opening, row_writer, store
from tests.instruments.simulation.virtual_loop import VirtualLoop


def _loop() -> VirtualLoop:
    """Return the loop of the current run."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop


class VirtualTime:
    """A replacement for the module `time`."""

    @staticmethod
    def time_ns() -> int:
        return _loop().timeline.clock.wall_ms() * 1_000_000

    @staticmethod
    def monotonic_ns() -> int:
        return int(_loop().time() * 1_000_000_000)


class SliceTime:
    """A replacement for `time` where code checks if a slice is over."""

    def __init__(self) -> None:
        self.chance = random.Random(0)  # noqa: S311 - the same every time
        self._now = 0.0

    def begin(self, seed: str) -> None:
        """Begin a run, whose slices must not depend on earlier runs."""
        self.chance = random.Random(seed)  # noqa: S311 - the same every time
        self._now = 0.0  # the rounding of sums depends on their size

    def monotonic(self) -> float:
        self._now += self.chance.choice((0.0005, 0.001, 0.002, 0.005))
        return self._now


class Secrets:
    """A replacement for `secrets`."""

    @staticmethod
    def token_bytes(count: int) -> bytes:
        return b"\x5e" * count


SLICES = SliceTime()


@contextmanager
def virtual() -> Iterator[None]:
    """Replace clocks and random numbers for the duration of the block."""
    with ExitStack() as stack:
        replacements: list[tuple[object, str, object]] = [
            (clock, "time", VirtualTime),
            (clock, "quality", lambda: _loop().timeline.clock.quality),
            (store, "time", SLICES),
            (checkpoints, "time", SLICES),
            (opening, "secrets", Secrets),
            (checkpointing, "time", SLICES),
            (Session, "__hash__", lambda session: session.number),
            # Sizes that are small enough to be reached.
            (checkpointing, "CHECKPOINT_CHANGES", 12),
            (checkpointing, "CHECKPOINT_IDLE_SECONDS", 4.0),
            (checkpointing, "CHECKPOINT_BYTES", 6_000),
            (journal, "DROP_FILES_MAX", 2),
            (batch_writer, "QUICK_COMMITS", 2),
            (checkpoint, "CHUNK_ROWS", 3),
            (row_writer, "CHUNK_ROWS", 3),
            (effects, "QUEUE_PAGE_MESSAGES", 4),
            (deliver, "WAITING_IN_MEMORY_MESSAGES", 3),
            (retained, "SLICE_MESSAGES", 3),
            (retained, "FIRST_MESSAGES", 2),
        ]
        for target, name, value in replacements:
            stack.enter_context(mock.patch.object(target, name, value))
        logging.disable(logging.CRITICAL)  # logs about simulated faults would not help a reader
        stack.callback(logging.disable, logging.NOTSET)
        yield
