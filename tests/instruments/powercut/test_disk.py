"""The disk of the power cuts loses as much as it claims, and no more."""

import errno
import os
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.instruments.powercut import medium
from tests.instruments.powercut.disk import Disk
from tests.instruments.powercut.node import Node
from tests.instruments.powercut.survival import SECTOR_BYTES

FILE_BYTES_MAX = 4 * SECTOR_BYTES

writes = st.tuples(st.integers(0, FILE_BYTES_MAX), st.binary(min_size=1, max_size=2 * SECTOR_BYTES))
seeds = st.integers(0, 2**32)


def new_file(disk: Disk, path: str = "/file") -> int:
    number = disk.create(path, Node(0o100644))
    disk.sync(disk.number_of("/"))
    return number


def after_a_cut(disk: Disk, seed: int) -> Disk:
    after, _ = disk.survivors(random.Random(seed))  # noqa: S311
    return after


def contents_of(disk: Disk, path: str = "/file") -> bytes:
    return bytes(disk.nodes[disk.number_of(path)].current)


def sectors_in(contents: bytes) -> list[bytes]:
    padded = contents.ljust(8 * SECTOR_BYTES, b"\0")
    return [padded[at : at + SECTOR_BYTES] for at in range(0, len(padded), SECTOR_BYTES)]


@given(st.lists(writes), seeds)
def test_what_was_fsynced_survives_every_cut(changes: list[tuple[int, bytes]], seed: int) -> None:
    disk = Disk()
    number = new_file(disk)
    for offset, data in changes:
        disk.write(number, offset, data)
    disk.sync(number)
    assert contents_of(after_a_cut(disk, seed)) == contents_of(disk)


@given(st.lists(writes), st.lists(writes), seeds)
def test_a_sector_survives_as_it_was_at_some_instant_since_the_fsync(
    synced: list[tuple[int, bytes]], unsynced: list[tuple[int, bytes]], seed: int
) -> None:
    disk = Disk()
    number = new_file(disk)
    for offset, data in synced:
        disk.write(number, offset, data)
    disk.sync(number)
    history = [sectors_in(contents_of(disk))]
    for offset, data in unsynced:
        disk.write(number, offset, data)
        history.append(sectors_in(contents_of(disk)))
    for index, sector in enumerate(sectors_in(contents_of(after_a_cut(disk, seed)))):
        assert sector in [instant[index] for instant in history]


def test_cuts_leave_nothing_everything_and_pieces_of_what_was_not_fsynced() -> None:
    disk = Disk()
    number = new_file(disk)
    disk.write(number, 0, b"x" * 2 * SECTOR_BYTES)
    found = {contents_of(after_a_cut(disk, seed)) for seed in range(200)}
    first = b"x" * SECTOR_BYTES
    last = bytes(SECTOR_BYTES) + first
    assert {b"", first, last, first + first, bytes(2 * SECTOR_BYTES)} <= found


def test_names_survive_in_their_order_and_for_certain_only_once_their_folder_is_fsynced() -> None:
    disk = Disk()
    new_file(disk, "/old")
    disk.rename("/old", "/new")
    disk.create("/second", Node(0o100644))
    # The fsync of a file guarantees nothing about its name.
    disk.sync(disk.number_of("/second"))
    found = {tuple(sorted(name for _, name in after_a_cut(disk, seed).names)) for seed in range(99)}
    assert found == {("old",), ("new",), ("new", "second")}
    disk.sync(disk.number_of("/"))
    found = {tuple(sorted(name for _, name in after_a_cut(disk, seed).names)) for seed in range(99)}
    assert found == {("new", "second")}


def test_a_lying_disk_forgets_the_last_thing_that_it_was_asked_to_keep() -> None:
    disk = Disk(is_lying=True)
    number = new_file(disk)
    disk.write(number, 0, b"first")
    disk.sync(number)
    assert {contents_of(after_a_cut(disk, seed)) for seed in range(50)} >= {b"", b"first"}
    disk.write(number, 0, b"other")
    disk.sync(number)
    assert {contents_of(after_a_cut(disk, seed)) for seed in range(50)} == {b"first", b"other"}


def test_a_full_disk_refuses_what_would_grow_and_takes_what_would_not() -> None:
    disk = Disk(capacity_bytes=10)
    number = new_file(disk)
    disk.write(number, 0, b"0123456789")
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        disk.write(number, 5, b"abcdef")
    disk.write(number, 5, b"abcde")
    assert contents_of(disk) == b"01234abcde"


def test_a_failed_fsync_leaves_contents_that_are_read_and_never_reach_the_medium() -> None:
    disk = Disk()
    number = new_file(disk)
    disk.write(number, 0, b"lost")
    disk.fail_sync(number)
    disk.sync(number)
    assert contents_of(disk) == b"lost"
    assert not any(contents_of(after_a_cut(disk, seed)).strip(b"\0") for seed in range(50))


def test_a_medium_is_a_plain_folder(tmp_path: Path) -> None:
    disk = Disk()
    disk.create("/folder", Node(0o040755))
    number = disk.create("/folder/file", Node(0o100600))
    disk.write(number, 0, b"contents")
    medium.save(disk, tmp_path / "medium")
    assert (tmp_path / "medium" / "folder" / "file").read_bytes() == b"contents"
    again = medium.load(tmp_path / "medium")
    assert contents_of(again, "/folder/file") == b"contents"
    assert contents_of(after_a_cut(again, 1), "/folder/file") == b"contents"
