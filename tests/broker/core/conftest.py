"""A broker on a fresh data directory, and memory that is counted."""

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
    """Access rules that a test sets, of the harness's broker."""
    made = Rules()
    harness.broker.restrict(made)
    return made
