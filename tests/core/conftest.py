"""A broker on a fresh data directory."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.core.harness import Harness


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[Harness]:
    made = Harness(tmp_path)
    yield made
    made.close()
