from __future__ import annotations

import os
from pathlib import Path

import pytest

from gateway.uploader.segments.damage import (
    exported_again,
    is_set_aside,
    keep_damaged,
    restore_readable,
    retire,
    segments_set_aside,
    set_aside,
)
from gateway.uploader.segments.names import SegmentName
from gateway.uploader.settings import DAMAGED_FILES_MAX


def segment(number: int) -> SegmentName:
    return SegmentName("gw-1", "0123456789abcdef", number, number, number, "ab" * 32)


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    (tmp_path / "sealed").mkdir()
    for number in range(1, DAMAGED_FILES_MAX + 6):
        (tmp_path / "sealed" / str(segment(number))).write_bytes(b"%d" % number)
    return tmp_path


def test_segments_are_all_kept_and_come_back_with_their_bytes(log_dir: Path) -> None:
    sealed = list((log_dir / "sealed").iterdir())
    for path in sealed:
        set_aside(log_dir, path)
    found = list(segments_set_aside(log_dir))
    assert len(found) == len(sealed) > DAMAGED_FILES_MAX
    assert [name.segment for name in found[:3]] == [1, 2, 3]
    assert all(is_set_aside(log_dir, name) for name in found)
    restore_readable(log_dir, segment(2))
    assert (log_dir / "sealed" / str(segment(2))).read_bytes() == b"2"
    assert not is_set_aside(log_dir, segment(2))


def test_of_other_damaged_files_the_newest_are_kept(log_dir: Path) -> None:
    set_aside(log_dir, log_dir / "sealed" / str(segment(1)))
    for number in range(DAMAGED_FILES_MAX + 3):
        keep_damaged(log_dir, f"blob-{number}", b"damaged")
        os.utime(log_dir / "damaged" / f"blob-{number}", (number, number))
    kept = {path.name for path in (log_dir / "damaged").iterdir()}
    newest = {f"blob-{number}" for number in range(3, DAMAGED_FILES_MAX + 3)}
    assert kept == newest | {str(segment(1))}


def test_nothing_is_set_aside_where_nothing_was_ever_damaged(tmp_path: Path) -> None:
    assert list(segments_set_aside(tmp_path)) == []


def test_a_segment_is_exported_again_when_another_of_its_number_begins_no_later(
    log_dir: Path,
) -> None:
    (log_dir / "sent").mkdir()
    original = SegmentName("gw-1", "0123456789abcdef", 90, 50, 60, "ab" * 32)
    set_aside_path = log_dir / "sealed" / str(original)
    set_aside_path.write_bytes(b"original")
    set_aside(log_dir, set_aside_path)
    assert exported_again(log_dir, [original]) == set()
    later = SegmentName("gw-1", "0123456789abcdef", 90, 51, 70, "cd" * 32)
    (log_dir / "sent" / str(later)).touch()
    assert exported_again(log_dir, [original]) == set(), "the original has an event of its own"
    whole = SegmentName("gw-1", "0123456789abcdef", 90, 50, 55, "ef" * 32)
    (log_dir / "sent" / str(whole)).touch()
    assert exported_again(log_dir, [original]) == {original}
    retire(log_dir, original)
    assert list(segments_set_aside(log_dir)) == []
    assert (log_dir / "damaged" / f"{original}.exported-again").read_bytes() == b"original"
