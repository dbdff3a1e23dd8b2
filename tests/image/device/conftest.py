"""A card in a folder, for every test of the programs that run on a card."""

from pathlib import Path

import pytest

from tests.image.device.boot_partition import Card
from tests.image.device.device import Device


@pytest.fixture
def card(tmp_path: Path) -> Card:
    """Return a card with two partitions for provisioning."""
    return Card(tmp_path)


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Device:
    """Return a card that was started once, with the test's own program in place of rauc."""
    made = Device(tmp_path, monkeypatch)
    made.booted()
    return made
