"""Folders of segments, in which only changed subfolders are listed."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.process.files.segment_folders import (
    SegmentFolder,
    make_subfolder,
    names_in,
    oldest_in,
    put_in_place,
    remove_if_empty,
    segment_file_of,
    subfolder_of,
    subfolders_in,
)
from tests.process.files.listings import listings
from tests.process.files.many_segments import age, fill, name_of


@pytest.mark.parametrize(
    ("number", "place"),
    [
        (1, "sent"),
        (999, "sent"),
        (1_000, "sent/00001___"),
        (12_345, "sent/00012___"),
        (10**8, "sent/100000___"),
        (10**19 - 1, "sent/9999999999999999___"),
    ],
)
def test_each_thousand_of_segments_has_a_subfolder_and_the_first_has_the_folder(
    number: int, place: str, tmp_path: Path
) -> None:
    folder = tmp_path / "sent"
    folder.mkdir()
    assert subfolder_of(folder, number) == tmp_path / place
    fill(folder, [number])
    assert subfolders_in(folder)[-1] == tmp_path / place


def test_a_subfolder_has_the_mode_of_the_folder_so_that_the_broker_may_remove_from_it(
    tmp_path: Path,
) -> None:
    tmp_path.chmod(0o770)
    assert make_subfolder(tmp_path, 5_000).stat().st_mode & 0o777 == 0o770


def test_totals_are_of_all_segments_and_of_nothing_else(tmp_path: Path) -> None:
    fill(tmp_path, [5, 1_000, 1_999, 12_345], b"four")
    (tmp_path / "00001___" / "notes.txt").write_text("by hand")
    (tmp_path / "00002___.bak").mkdir()
    (tmp_path / "gw-1").mkdir()
    fill(tmp_path / "gw-1", [7])
    folder = SegmentFolder(tmp_path)
    assert [each.count for each in folder.list_folders()] == [1, 2, 1]
    assert (folder.count, folder.size_bytes) == (4, 16)
    segments = {name_of(number) for number in (5, 1_000, 1_999, 12_345)}
    others = {"notes.txt", "00001___", "00002___.bak", "00012___", "gw-1"}
    assert set(names_in(tmp_path)) == segments | others


def test_a_look_lists_only_what_has_changed(tmp_path: Path) -> None:
    fill(tmp_path, range(100, 20_001, 100))
    age(tmp_path)
    folder = SegmentFolder(tmp_path)
    with listings() as listed:
        folder.list_folders()
    assert len(listed) == 21
    with listings() as listed:
        folder.list_folders()
    assert listed == []
    fill(tmp_path, [20_001, 20_002])
    (tmp_path / "00003___" / name_of(3_500)).unlink()
    with listings() as listed:
        folder.list_folders()
    assert listed == [tmp_path / "00003___", tmp_path / "00020___"]
    assert folder.count == 201


def test_a_change_within_a_tick_of_the_file_system_s_clock_is_seen(tmp_path: Path) -> None:
    folder = SegmentFolder(tmp_path)
    for number in range(1, 200):
        fill(tmp_path, [number])
        folder.list_folders()
        assert folder.count == number


def test_a_folder_that_is_missing_or_goes_is_empty(tmp_path: Path) -> None:
    folder = SegmentFolder(tmp_path / "sent")
    assert folder.list_folders() == []
    fill(tmp_path / "sent", [1, 2_000])
    assert [each.count for each in folder.list_folders()] == [1, 1]
    (tmp_path / "sent/00002___" / name_of(2_000)).unlink()
    remove_if_empty(tmp_path / "sent", tmp_path / "sent/00002___")
    assert [each.count for each in folder.list_folders()] == [1]
    (tmp_path / "sent" / name_of(1)).unlink()
    remove_if_empty(tmp_path / "sent", tmp_path / "sent")
    (tmp_path / "sent").rmdir()
    assert (folder.list_folders(), folder.count) == ([], 0)


def test_segments_that_lie_in_the_folder_itself_are_counted_and_put_in_place(
    tmp_path: Path,
) -> None:
    fill(tmp_path, [5, 999, 1_000, 2_500], flat=True)
    assert SegmentFolder(tmp_path).list_folders()[0].count == 4
    put_in_place(tmp_path)
    assert [each.first_number for each in SegmentFolder(tmp_path).list_folders()] == [
        5,
        1_000,
        2_500,
    ]
    put_in_place(tmp_path)


def test_the_oldest_are_found_by_number(tmp_path: Path) -> None:
    fill(tmp_path, [40, 7, 300], b"xy")
    assert [(file.number, file.size_bytes) for file in oldest_in(tmp_path, 2)] == [(7, 2), (40, 2)]


def test_what_is_no_segment_s_name_is_none() -> None:
    assert segment_file_of("chain.json") is None
    assert segment_file_of(name_of(3).removesuffix(".zst")) is None
    found = segment_file_of(name_of(3))
    assert found is not None
    assert (found.number, found.first_sequence, found.last_sequence) == (3, 21, 30)
