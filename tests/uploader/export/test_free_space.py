from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from gateway.uploader.export.free_space import check_free_space, is_on_disk_of


def test_a_disk_with_less_free_than_is_kept_for_the_broker_is_refused(tmp_path: Path) -> None:
    disk = os.statvfs(tmp_path)
    check_free_space(tmp_path, 0)
    with pytest.raises(OSError, match="are kept free") as refusal:
        check_free_space(tmp_path, disk.f_blocks * disk.f_frsize + 1)
    assert refusal.value.errno == errno.ENOSPC


@pytest.mark.parametrize(
    ("url", "is_same"),
    [
        ("file://{here}/uploaded", True),
        ("file://{here}/not/yet/there", True),
        ("file:///proc/uploaded", False),
        ("s3://bucket/logs", False),
    ],
)
def test_only_a_directory_of_the_same_file_system_is_on_the_same_disk(
    url: str, is_same: bool, tmp_path: Path
) -> None:
    assert is_on_disk_of(url.format(here=tmp_path), tmp_path) is is_same


def test_a_directory_s_name_is_taken_from_the_url_as_it_is_written_there(tmp_path: Path) -> None:
    (tmp_path / "a b").symlink_to("/proc")
    assert not is_on_disk_of(f"file://{tmp_path}/a%20b", tmp_path)
