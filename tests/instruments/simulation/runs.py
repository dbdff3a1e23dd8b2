"""A single run, from a plan to an outcome. Everything else in this package uses it."""

import sqlite3
import struct
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from gateway.broker.core.broker import Broker
from tests.instruments.simulation.plan import Plan
from tests.instruments.simulation.violation import Violation
from tests.instruments.simulation.world import World

MISTAKES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    NameError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    sqlite3.Error,
    struct.error,
)
"""Exceptions that a mistake in the broker raises, which count as findings."""

TEMPORARY = Path("/dev/shm")  # noqa: S108 - only whether it is there, and memory
"""The folder for files, if it exists: a file system in memory."""


@dataclass
class Outcome:
    """The result of a run."""

    plan: Plan
    violation: Violation | None
    counts: Counter[str]
    boundaries: int
    """The number of moments until all clients had finished."""
    story: list[str] = field(default_factory=list)


def run(plan: Plan, *, broker_class: type[Broker] = Broker, logs: bool = False) -> Outcome:
    """Run a plan within `clocks.virtual`."""
    place = TEMPORARY if TEMPORARY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="simulation-", dir=place) as folder:
        world = World(plan, Path(folder), broker_class, logs)
        violation: Violation | None = None
        try:
            world.run()
        except Violation as error:
            violation = error
            world.tell("world", str(error))
        except MISTAKES as error:
            violation = Violation("the broker makes no mistake", f"{type(error).__name__}: {error}")
            violation.__cause__ = error
            world.tell("world", str(violation))
        finally:
            world.end()
    world.counts.update(world.log.counts)
    return Outcome(plan, violation, world.counts, world.boundaries, world.story or [])
