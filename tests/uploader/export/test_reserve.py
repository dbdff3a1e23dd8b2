from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.uploader.export.reserve import Reserve
from gateway.uploader.settings import RESERVE_BYTES_MAX, RESERVE_STEP_BYTES
from tests.small_disk import SmallDisk, small_disk

DISK_BYTES = 64 << 20
"""So large that its share is the largest reserve.

The file system takes memory only for written data.
"""


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with small_disk(tmp_path / "disk", DISK_BYTES) as made:
        yield made


def test_the_reserve_is_given_up_step_by_step_and_taken_again(disk: SmallDisk) -> None:
    reserve, path = Reserve(disk.folder), disk.folder / "reserve"
    assert not reserve.give()
    reserve.make()
    whole = path.stat().st_blocks
    assert path.stat().st_size == RESERVE_BYTES_MAX
    assert whole * 512 >= RESERVE_BYTES_MAX
    assert path.stat().st_mode & 0o777 == 0o640
    steps = 0
    while reserve.give():
        steps += 1
        assert path.stat().st_size == RESERVE_BYTES_MAX - steps * RESERVE_STEP_BYTES
    assert steps == RESERVE_BYTES_MAX // RESERVE_STEP_BYTES
    reserve.make()
    assert path.stat().st_blocks == whole


def test_on_a_disk_that_is_nearly_full_no_reserve_is_taken(disk: SmallDisk) -> None:
    reserve = Reserve(disk.folder)
    assert not reserve.is_tight()
    disk.fill(leave_bytes=3 * RESERVE_BYTES_MAX)
    assert reserve.is_tight()
    reserve.make()
    assert not (disk.folder / "reserve").exists()
    disk.empty()
    reserve.make()
    assert (disk.folder / "reserve").exists()
