"""Folders opened one by one, so that no link leads a restored file elsewhere."""

import os
from pathlib import Path

import pytest

from gateway.tools.backup.folders import create, exists, folder_of, missing_accounts, owner_of


def test_a_file_is_created_below_its_base_with_its_mode(tmp_path: Path) -> None:
    with folder_of(tmp_path, "a/b/file") as (folder, name):
        create(folder, name, iter([b"one ", b"two"]), mode=0o604, owner=(-1, -1))
        assert exists(folder, name)
        assert not exists(folder, "other")
    assert (tmp_path / "a/b/file").read_bytes() == b"one two"
    assert (tmp_path / "a/b/file").stat().st_mode & 0o777 == 0o604
    assert (tmp_path / "a").stat().st_mode & 0o027 == 0


def test_a_file_that_was_left_there_is_not_written_through(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_text("untouched")
    (tmp_path / "file").symlink_to(outside)
    with folder_of(tmp_path, "file") as (folder, name):
        create(folder, name, iter([b"new"]), mode=0o600, owner=(-1, -1))
    assert outside.read_text() == "untouched"


def test_a_file_in_place_of_a_folder_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    expected = r"Not a directory|is a link or no folder"
    with pytest.raises(OSError, match=expected), folder_of(tmp_path, "a/file"):
        raise AssertionError("it is a file")


def test_accounts_that_this_machine_does_not_have_are_named() -> None:
    assert list(missing_accounts("root", "root")) == []
    assert list(missing_accounts("no-such-user", "no-such-group")) == [
        "user no-such-user",
        "group no-such-group",
    ]
    expected = (0, 0) if os.geteuid() == 0 else (-1, -1)
    assert owner_of("root", "root") == expected
    assert owner_of("no-such-user", "") == (-1, -1)
