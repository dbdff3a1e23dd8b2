"""The image under test, a key to log in with, and cards that are provisioned for tests."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.image.boot.card import Card

USER, PASSWORD = "cellar", "lantern-moss-7-quay"
"""Words that occur nowhere else on a card; a famous password occurs in argon2's documentation."""

SERVICES = [f"oncegate-{name}" for name in ("broker", "bridge", "api", "upload")]

MakeCard = Callable[[], Card]


@pytest.fixture(scope="session")
def image() -> Path:
    return Path(os.environ["ONCEGATE_IMAGE"])


@pytest.fixture(scope="session")
def key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("ssh") / "key"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", file], check=True)
    return file


@pytest.fixture
def card(image: Path, key: Path, tmp_path: Path) -> Card:
    """Return a freshly flashed card with a gateway.toml."""
    made = Card(image, tmp_path / "card.img")
    made.put("gateway.toml", provisioning_file(key))
    return made


def provisioning_file(key: Path) -> str:
    return f"""\
[device]
hostname = "cabinet-7"
ssh_keys = ["{key.with_suffix(".pub").read_text().strip()}"]
[[users]]
name = "{USER}"
password = "{PASSWORD}"
[[serial]]
name = "board"
usb = "0403:6001"
[api]
bind = "0.0.0.0"
allow_anonymous_network = true
"""
