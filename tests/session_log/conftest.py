from __future__ import annotations

from pathlib import Path

import pytest

from tests.session_log.journals import MemoryJournal
from tests.session_log.stage import Stage, settings_in


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(settings_in(tmp_path), MemoryJournal())
