"""A card in a folder, for every test of the programs that run on a card."""

from pathlib import Path

import pytest
from oncegate_device.places import Places
from oncegate_device.provisioning import provision

from tests.image.device.boot_partition import FULL, KEY, Card
from tests.image.device.device import Device
from tests.image.device.network_changes import Units


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


@pytest.fixture
def units() -> Units:
    return Units()


@pytest.fixture
def places(device: Device) -> Places:
    """Return the places of a card that has taken a full gateway.toml."""
    device.places.file.write_text(FULL.replace(f'ssh_keys = ["{KEY}"]', "ssh_keys = []"))
    provision(device.places, writable=device._writable, own=lambda *_: None)
    device.places.requests.mkdir(parents=True)
    return device.places
