from __future__ import annotations

from pathlib import Path

import pytest

from tests.history.journals import MemoryJournal
from tests.history.stage import Stage, settings_in


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(settings_in(tmp_path), MemoryJournal())
