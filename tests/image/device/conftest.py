"""A card in a folder, for every test of what runs on it."""

from pathlib import Path

import pytest

from tests.image.device.boot_partition import Card
from tests.image.device.device import Device


@pytest.fixture
def card(tmp_path: Path) -> Card:
    """Two partitions for provisioning."""
    return Card(tmp_path)


@pytest.fixture
def device(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Device:
    """A card that was started once, with rauc as a program of the test's."""
    made = Device(tmp_path, monkeypatch)
    made.booted()
    return made
