"""Fixtures of the core's tests: a broker on a new data directory, and a trace of memory use."""

import tempfile
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker.core.harness import Harness
from tests.broker.core.permitting import Rules
from tests.instruments.fuzz.scratch import scratch_root


@pytest.fixture
def tmp_path() -> Iterator[Path]:
    """Yield a directory in memory, because these tests commit thousands of times.

    The core does not read or write files. The tests of the store use a disk.
    """
    with tempfile.TemporaryDirectory(prefix="oncegate-test-", dir=scratch_root()) as directory:
        yield Path(directory)


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    made = Harness(tmp_path)
    yield made
    made.close()


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.fixture
def rules(harness: Harness) -> Rules:
    """Return access rules that a test can set, and apply them to the harness's broker."""
    made = Rules()
    harness.broker.restrict(made)
    return made
