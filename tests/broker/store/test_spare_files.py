"""The spare file and the reserve: which journal files are kept, and which one is used next."""

import os
from pathlib import Path

import pytest

from gateway.broker.store.spare_files import (
    RESERVE_NAME,
    RESERVE_PARTIAL_NAME,
    SPARE_NAME,
    SpareFiles,
)

FILE_BYTES = 4_096
RESERVE_BYTES = 16_384


def file_of(folder: Path, name: str, size_bytes: int) -> Path:
    """Create a file of `size_bytes` in `folder`; return its path."""
    path = folder / name
    path.write_bytes(bytes(size_bytes))
    return path


def test_a_dropped_file_becomes_the_spare_and_the_next_one_is_deleted(tmp_path: Path) -> None:
    files = SpareFiles(tmp_path)
    files.keep_or_delete(file_of(tmp_path, "1", FILE_BYTES), FILE_BYTES)
    files.keep_or_delete(file_of(tmp_path, "2", FILE_BYTES), FILE_BYTES)
    assert [path.name for path in tmp_path.iterdir()] == [SPARE_NAME]
    assert files.spare.stat().st_size == FILE_BYTES


def test_a_longer_file_is_no_spare(tmp_path: Path) -> None:
    SpareFiles(tmp_path).keep_or_delete(file_of(tmp_path, "1", FILE_BYTES + 1), FILE_BYTES)
    assert list(tmp_path.iterdir()) == []


def test_a_dropped_file_replaces_the_reserve_that_was_used_up(tmp_path: Path) -> None:
    files = SpareFiles(tmp_path)
    files.create_reserve(RESERVE_BYTES)
    (tmp_path / RESERVE_NAME).rename(tmp_path / "1")
    files.keep_or_delete(tmp_path / "1", FILE_BYTES)
    assert files.has_reserve()
    assert (tmp_path / RESERVE_NAME).stat().st_size == RESERVE_BYTES


def test_the_spare_is_used_before_the_reserve_if_it_is_long_enough(tmp_path: Path) -> None:
    files = SpareFiles(tmp_path)
    assert files.with_room(1) is None
    file_of(tmp_path, SPARE_NAME, FILE_BYTES)
    files.create_reserve(RESERVE_BYTES)
    assert files.with_room(FILE_BYTES) == tmp_path / SPARE_NAME
    assert files.with_room(FILE_BYTES + 1) == tmp_path / RESERVE_NAME
    assert files.with_room(RESERVE_BYTES + 1) is None


def test_a_reserve_is_created_once_and_deleted_once(tmp_path: Path) -> None:
    files = SpareFiles(tmp_path)
    files.create_reserve(RESERVE_BYTES)
    files.create_reserve(2 * RESERVE_BYTES)
    assert (tmp_path / RESERVE_NAME).stat().st_size == RESERVE_BYTES
    assert files.delete_reserve()
    assert not files.delete_reserve()
    assert list(tmp_path.iterdir()) == []


def test_a_reserve_that_does_not_fit_leaves_no_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_descriptor: int, _start: int, _length: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    files = SpareFiles(tmp_path)
    with pytest.raises(OSError, match="No space"):
        files.create_reserve(RESERVE_BYTES)
    assert not (tmp_path / RESERVE_PARTIAL_NAME).exists()
    assert not files.has_reserve()
