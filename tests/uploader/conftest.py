from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.uploader.bucket import Bucket, served_bucket
from tests.uploader.journals import MemoryJournal
from tests.uploader.stage import Stage, settings_in


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(settings_in(tmp_path), MemoryJournal())


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with served_bucket(monkeypatch) as bucket:
        yield bucket
