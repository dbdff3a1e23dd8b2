"""The file of removed users; a file in another format is refused."""

import os
from pathlib import Path

import pytest

from gateway.broker.access.users.removed_file import RemovedFile, RemovedFileError, load, save


def test_what_is_saved_is_loaded_by_no_other_user(tmp_path: Path) -> None:
    path = tmp_path / "broker.removed-users.json"
    assert load(path) == RemovedFile()
    kept = RemovedFile(
        frozenset({"anna", "b\u00e9n"}), frozenset({"carl"}), {"d": 7}, {"c": "0f:1"}
    )
    save(path, kept)
    assert load(path) == kept
    assert path.stat().st_mode & 0o007 == 0
    assert os.listdir(tmp_path) == [path.name]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "is no file of removed users"),
        ("[]", "expected an object"),
        ('{"format": 2, "known": [], "removed": []}', "it has format 2, expected 1"),
        ('{"format": 1, "known": [7], "removed": []}', "expected a list of names"),
        ('{"format": 1, "known": []}', "expected a list of names"),
        (
            '{"format": 1, "known": [], "removed": [], "certificates": {"c": 7}}',
            "expected an object of certificates",
        ),
    ],
)
def test_another_file_is_refused(tmp_path: Path, content: str, reason: str) -> None:
    path = tmp_path / "f"
    path.write_text(content)
    with pytest.raises(RemovedFileError, match=reason):
        load(path)


def test_a_link_in_its_place_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "f").symlink_to(tmp_path / "other")
    with pytest.raises(RemovedFileError, match="is a link"):
        load(tmp_path / "f")
