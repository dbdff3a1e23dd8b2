"""Replaces what makes two runs differ, for as long as simulations run: clocks, chance, addresses.

Wall time and monotonic time come from the virtual loop that is running. A slice of a checkpoint
or of an eviction ends when the run's disk decides it. Sets of the core's objects are walked in the
order of numbers instead of addresses. Sizes that only matter under load are made small, so that
pages, chunks and checkpoints happen in a run of some seconds.
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
from gateway.broker.store import checkpoint, checkpointing, journal, opening, store
from tests.instruments.simulation.virtual_loop import VirtualLoop


def _loop() -> VirtualLoop:
    """Return the loop of the run that is under way."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, VirtualLoop)
    return loop


class VirtualTime:
    """Stands in for the module `time`."""

    @staticmethod
    def time_ns() -> int:
        return _loop().timeline.clock.wall_ms() * 1_000_000

    @staticmethod
    def monotonic_ns() -> int:
        return int(_loop().time() * 1_000_000_000)


class SliceTime:
    """Stands in for `time` where something looks whether its slice is over."""

    def __init__(self) -> None:
        self.chance = random.Random(0)  # noqa: S311 - the same every time
        self._now = 0.0

    def begin(self, seed: str) -> None:
        """Begin a run: its slices are its own."""
        self.chance = random.Random(seed)  # noqa: S311 - the same every time
        self._now = 0.0  # sums are rounded by how large they are

    def monotonic(self) -> float:
        self._now += self.chance.choice((0.0005, 0.001, 0.002, 0.005))
        return self._now


class Secrets:
    """Stands in for `secrets`."""

    @staticmethod
    def token_bytes(count: int) -> bytes:
        return b"\x5e" * count


SLICES = SliceTime()


@contextmanager
def virtual() -> Iterator[None]:
    """Let simulations run meanwhile."""
    with ExitStack() as stack:
        replacements: list[tuple[object, str, object]] = [
            (clock, "time", VirtualTime),
            (clock, "quality", lambda: _loop().timeline.clock.quality),
            (store, "time", SLICES),
            (checkpoints, "time", SLICES),
            (opening, "secrets", Secrets),
            (checkpointing, "time", SLICES),
            (Session, "__hash__", lambda session: session.number),
            # Small enough to be reached.
            (checkpointing, "CHECKPOINT_CHANGES", 12),
            (checkpointing, "CHECKPOINT_IDLE_SECONDS", 4.0),
            (checkpointing, "CHECKPOINT_BYTES", 6_000),
            (journal, "DROP_FILES_MAX", 2),
            (batch_writer, "QUICK_COMMITS", 2),
            (checkpoint, "CHUNK_ROWS", 3),
            (effects, "QUEUE_PAGE_MESSAGES", 4),
            (deliver, "WAITING_IN_MEMORY_MESSAGES", 3),
            (retained, "SLICE_MESSAGES", 3),
            (retained, "FIRST_MESSAGES", 2),
        ]
        for target, name, value in replacements:
            stack.enter_context(mock.patch.object(target, name, value))
        logging.disable(logging.CRITICAL)  # what the broker logs of made-up faults helps no reader
        stack.callback(logging.disable, logging.NOTSET)
        yield
