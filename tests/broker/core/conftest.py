"""Fixtures of the core's tests: a broker on a new data directory, and a trace of memory use."""

import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker.core.harness import Harness
from tests.broker.core.permitting import Rules


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
