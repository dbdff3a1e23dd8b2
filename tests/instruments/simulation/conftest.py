"""Simulations run with virtual clocks."""

from collections.abc import Iterator

import pytest

from tests.instruments.simulation.clocks import virtual


@pytest.fixture(autouse=True)
def virtual_clocks() -> Iterator[None]:
    """Replace the clocks for each test."""
    with virtual():
        yield
