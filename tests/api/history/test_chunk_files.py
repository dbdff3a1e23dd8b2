"""The files of one ring: appended, damaged or torn, and never larger than the limits allow."""

import dataclasses
from pathlib import Path

import pytest

from api.history.chunk_files import ChunkFiles
from api.history.points import Point
from api.history.rings import DAY

NAME = "sensors/board/temperature"
ALWAYS = {"first": 0, "last": 10**9, "visible_before": 10**9}
SMALL = dataclasses.replace(DAY, file_steps=10, files_max=3)


def opened(directory: Path) -> ChunkFiles:
    files = ChunkFiles(directory, SMALL)
    files.open()
    return files


def append(files: ChunkFiles, first: int, count: int = 5, value: float = 1.0) -> None:
    points = [Point(first + i, value, value, value, value) for i in range(count)]
    files.append(first, {(NAME, "Cel"): points})


def steps_of(files: ChunkFiles) -> list[int]:
    return [point.step for point in files.points_of(NAME, **ALWAYS)[1]]


def test_points_come_back_after_a_restart(tmp_path: Path) -> None:
    files = opened(tmp_path)
    append(files, 100)
    append(files, 105)
    again = opened(tmp_path)
    assert steps_of(again) == steps_of(files) == list(range(100, 110))
    assert again.names() == {NAME: "Cel"}
    assert again.points_of(NAME, first=103, last=106, visible_before=106) == (
        "Cel",
        [Point(step, 1.0, 1.0, 1.0, 1.0) for step in (103, 104, 105)],
    )
    assert again.points_of("sensors/board/other", **ALWAYS) == (None, [])


def test_the_oldest_file_goes_when_there_are_too_many(tmp_path: Path) -> None:
    files = opened(tmp_path)
    for first in range(0, 100, 5):
        append(files, first)
        assert len(list(tmp_path.iterdir())) <= SMALL.files_max
    assert steps_of(files) == steps_of(opened(tmp_path)) == list(range(70, 100))


def test_the_oldest_file_goes_when_they_take_too_many_bytes(tmp_path: Path) -> None:
    files = ChunkFiles(tmp_path, dataclasses.replace(SMALL, bytes_max=500))
    files.open()
    for first in range(0, 100, 5):
        append(files, first)
    assert sum(file.stat().st_size for file in tmp_path.iterdir()) <= 500
    assert steps_of(files)[-1] == 99


def test_a_chunk_hides_later_steps_of_earlier_chunks(tmp_path: Path) -> None:
    files = opened(tmp_path)
    append(files, 100, value=1.0)
    append(files, 5_000, value=2.0)  # The clock was wrong.
    append(files, 102, value=3.0)
    found = files.points_of(NAME, **ALWAYS)[1]
    assert [(point.step, point.last) for point in found] == [
        (100, 1.0), (101, 1.0), (102, 3.0), (103, 3.0), (104, 3.0), (105, 3.0), (106, 3.0),
    ]  # fmt: skip


@pytest.mark.parametrize("tail", [b"OG", b"OGH1" + bytes(20), bytes(4096)])
def test_a_torn_end_is_cut_off_without_a_word_and_overwritten(tmp_path: Path, tail: bytes) -> None:
    append(opened(tmp_path), 100)
    (file,) = tmp_path.iterdir()
    file.write_bytes(file.read_bytes() + tail)
    files = opened(tmp_path)
    assert files.damaged == []
    append(files, 105)
    assert steps_of(opened(tmp_path)) == list(range(100, 110))


def test_a_chunk_cut_anywhere_costs_that_chunk(tmp_path: Path) -> None:
    files = opened(tmp_path)
    append(files, 100)
    (file,) = tmp_path.iterdir()
    whole = file.stat().st_size
    append(files, 105)
    content = file.read_bytes()
    for end in range(whole, len(content)):
        file.write_bytes(content[:end])
        again = opened(tmp_path)
        assert steps_of(again) == list(range(100, 105))
        assert again.damaged == []


def test_a_damaged_file_is_kept_aside_and_what_is_before_the_damage_stays(tmp_path: Path) -> None:
    files = opened(tmp_path)
    for first in (100, 105, 110):
        append(files, first)
    file = sorted(tmp_path.iterdir())[0]
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    again = opened(tmp_path)
    assert again.damaged == ["day.damaged"]
    assert (tmp_path / "day.damaged").read_bytes() == content
    assert steps_of(again) == [*range(100, 105), *range(110, 115)]
    assert opened(tmp_path).damaged == []


def test_another_file_in_the_directory_is_left_alone(tmp_path: Path) -> None:
    for name in ("day-1.txt", "day-x.history", "month-000001.history", "notes"):
        (tmp_path / name).write_text("mine")
    append(opened(tmp_path), 100)
    assert (tmp_path / "notes").read_text() == "mine"
    assert (tmp_path / "month-000001.history").read_text() == "mine"


def test_a_link_in_place_of_a_file_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "secret"
    target.write_bytes(b"")
    directory = tmp_path / "history"
    directory.mkdir()
    (directory / "day-000001.history").symlink_to(target)
    with pytest.raises(OSError, match="link"):
        opened(directory)
    assert target.read_bytes() == b""


def test_the_latest_chunks_are_those_of_the_latest_seconds(tmp_path: Path) -> None:
    files = opened(tmp_path)
    for first in (100, 105, 110):
        append(files, first)
    found = [point.step for _, points in files.latest(400) for point in points]
    assert found == list(range(105, 115))
