"""Files are replaced atomically and durably, and their mode does not change."""

import os
import stat
from pathlib import Path

import pytest
from oncegate_device.places import write


def test_a_stored_file_has_its_mode_from_its_first_moment(tmp_path: Path) -> None:
    write(tmp_path / "secret", "x", 0o600)
    assert (tmp_path / "secret").stat().st_mode & 0o777 == 0o600


def test_a_replaced_file_s_name_is_durable_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps: list[str] = []
    rename, fsync = Path.rename, os.fsync

    def renamed(self: Path, target: Path) -> Path:
        steps.append("rename")
        return rename(self, target)

    def fsynced(descriptor: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    monkeypatch.setattr(Path, "rename", renamed)
    monkeypatch.setattr(os, "fsync", fsynced)
    write(tmp_path / "record", "x", 0o644)
    assert steps == ["file", "rename", "folder"]
