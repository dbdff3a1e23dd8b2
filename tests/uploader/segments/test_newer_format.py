"""Files written by a later version are refused with one sentence, wherever they are."""

from pathlib import Path

import pytest

from gateway.process.files.disk_errors import line_of
from gateway.uploader.segments.newer_format import NewerFormat


@pytest.mark.parametrize("found", [2, "2.1", None])
def test_the_sentence_names_the_file_both_versions_and_the_fix(found: object) -> None:
    error = NewerFormat(Path("var/log/chain.json"), found, 1)
    assert line_of(error) == (
        f"var/log/chain.json has version {found}, this version of Oncegate understands 1: start "
        "the newer version again; nothing was changed"
    )
