"""Fixture with the path of a configuration file."""

from pathlib import Path

import pytest


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gateway.toml"
