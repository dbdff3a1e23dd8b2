"""Reading from a failing medium: the bytes that are returned, and the number of attempts."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.broker.store.medium import BLOCK_BYTES, read_at, read_blocks, read_whole
from tests.broker.store.bad_medium import BadMedium

DATA = bytes(index % 251 for index in range(3 * BLOCK_BYTES + 100))


@pytest.fixture
def medium(monkeypatch: pytest.MonkeyPatch) -> BadMedium:
    return BadMedium(monkeypatch)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "file"
    path.write_bytes(DATA)
    return path


@pytest.fixture
def descriptor(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    yield descriptor
    os.close(descriptor)


@pytest.mark.parametrize("read_bytes_max", [1, 77, BLOCK_BYTES, None])
def test_only_the_end_of_the_file_ends_a_read(
    descriptor: int, medium: BadMedium, read_bytes_max: int | None
) -> None:
    medium.read_bytes_max = read_bytes_max
    assert read_at(descriptor, len(DATA) + 10, 0) == DATA
    assert read_at(descriptor, 300, 50) == DATA[50:350]
    assert read_at(descriptor, 300, len(DATA) - 3) == DATA[-3:]
    assert read_at(descriptor, 300, len(DATA)) == b""


def test_a_block_that_cannot_be_read_is_named_and_zeros_stand_for_it(
    path: Path, medium: BadMedium
) -> None:
    medium.fail(path, BLOCK_BYTES + 5, BLOCK_BYTES + 6)
    contents = read_whole(path)
    assert contents.unreadable == [range(BLOCK_BYTES, 2 * BLOCK_BYTES)]
    zeros = bytes(BLOCK_BYTES)
    assert contents.data == DATA[:BLOCK_BYTES] + zeros + DATA[2 * BLOCK_BYTES :]


def test_blocks_are_those_of_the_file_where_reading_begins_within_one(
    path: Path, descriptor: int, medium: BadMedium
) -> None:
    medium.fail(path, BLOCK_BYTES, BLOCK_BYTES + 1)
    contents = read_blocks(descriptor, BLOCK_BYTES * 2, 100)
    first = BLOCK_BYTES - 100
    assert contents.unreadable == [range(first, first + BLOCK_BYTES)]
    assert contents.data[:first] == DATA[100:BLOCK_BYTES]
    assert contents.data[first + BLOCK_BYTES :] == DATA[2 * BLOCK_BYTES : 2 * BLOCK_BYTES + 100]


@pytest.mark.parametrize("attempts", [1, 2, 4])
def test_each_block_is_tried_as_often_as_is_asked_for(
    path: Path, medium: BadMedium, attempts: int
) -> None:
    medium.fail(path, 0, len(DATA))
    contents = read_whole(path, attempts)
    assert contents.data == bytes(len(DATA))
    assert sum(len(block) for block in contents.unreadable) == len(DATA)
    # One read of the whole file, then reads of its four blocks.
    assert medium.failures == 1 + 4 * attempts


def test_a_request_behind_the_end_of_a_file_that_fails_is_empty(
    path: Path, descriptor: int, medium: BadMedium
) -> None:
    medium.fail(path, 0, 1 << 30)
    assert read_blocks(descriptor, 100, len(DATA) + 50).data == b""


def test_an_error_that_states_nothing_about_the_medium_is_raised(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        read_whole(tmp_path)
    with pytest.raises(FileNotFoundError):
        read_whole(tmp_path / "missing")
