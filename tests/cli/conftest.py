"""Fixture with a peer at the control socket of the data directory that a command uses."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.peer import Peer


@pytest.fixture
def peer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Peer]:
    monkeypatch.setenv("ONCEGATE_GATEWAY_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "160")
    peer = Peer(tmp_path)
    yield peer
    peer.close()
