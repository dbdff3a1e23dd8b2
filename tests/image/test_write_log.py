"""A disk that is rebuilt from the log of its writes, and its contents after a power cut."""

import random
import struct
from pathlib import Path

from tests.image.boot.write_log import SECTOR_BYTES, Partition, WriteLog

START = 8 * SECTOR_BYTES
FLUSH, DISCARD = 1, 4


def entry(sector: int, data: bytes = b"", flags: int = 0, sectors: int | None = None) -> bytes:
    count = len(data) // SECTOR_BYTES if sectors is None else sectors
    return struct.pack("<QQQQ", sector, count, flags, 0).ljust(SECTOR_BYTES, b"\0") + data


def sector(letter: bytes, count: int = 1) -> bytes:
    return letter * SECTOR_BYTES * count


def partition_of(folder: Path, *entries: bytes) -> tuple[Partition, int]:
    """Return a partition of eight sectors that begins at sector 8 of the disk, and the size of its
    log."""
    disk, log = folder / "disk.img", folder / "writes.log"
    disk.write_bytes(sector(b"-", 16))
    log.write_bytes(sector(b"s") + b"".join(entries))
    return Partition(WriteLog(log), disk, START, folder / "partition.img"), log.stat().st_size


def cut(partition: Partition, folder: Path, seed: int) -> bytes:
    partition.cut(folder / "cut.img", random.Random(seed))  # noqa: S311 - moments, no secret
    data = (folder / "cut.img").read_bytes()
    assert len(data) == 8 * SECTOR_BYTES
    return data


def test_what_a_flush_followed_is_there_and_the_rest_may_be(tmp_path: Path) -> None:
    partition, end = partition_of(
        tmp_path,
        entry(8, sector(b"a", 2)),
        entry(2, sector(b"x")),  # before the partition
        entry(0, flags=FLUSH),
        entry(10, sector(b"b", 2)),
        entry(8, sector(b"c")),
        entry(14, flags=DISCARD, sectors=2),
    )
    partition.advance(end)
    assert partition.flushes == 1
    states = {cut(partition, tmp_path, seed)[::SECTOR_BYTES] for seed in range(300)}
    whole = {b"aa------", b"aabb----", b"ca------", b"cabb----"}
    torn = {b"aab-----", b"cab-----"}
    assert states == whole | torn


def test_the_log_is_taken_up_to_a_position_and_on_from_there(tmp_path: Path) -> None:
    first, second = entry(8, sector(b"a")), entry(9, sector(b"b"))
    flush = entry(0, flags=FLUSH)
    partition, end = partition_of(tmp_path, first, flush, second, flush)
    partition.advance(SECTOR_BYTES + len(first) + len(flush) + len(second) - 1)
    assert cut(partition, tmp_path, 1)[::SECTOR_BYTES] == b"a-------"
    partition.advance(end)
    assert partition.flushes == 2
    assert cut(partition, tmp_path, 1)[::SECTOR_BYTES] == b"ab------"


def test_the_most_is_at_stake_right_before_a_flush(tmp_path: Path) -> None:
    first, second, flush = entry(8, sector(b"a")), entry(9, sector(b"b")), entry(0, flags=FLUSH)
    partition_of(tmp_path, flush, first, flush, flush, first, second, flush)
    log = WriteLog(tmp_path / "writes.log")
    begin = SECTOR_BYTES + len(flush) + len(first)
    assert log.positions_before_flushes() == [
        begin,
        begin + 2 * len(flush) + len(first) + len(second),
    ]
    log.close()


def test_an_entry_that_was_not_written_whole_ends_the_log(tmp_path: Path) -> None:
    flush = entry(0, flags=FLUSH)
    partition, end = partition_of(tmp_path, entry(8, sector(b"a")), flush, entry(9, b"", 0, 5))
    partition.advance(end + 10 * SECTOR_BYTES)
    assert cut(partition, tmp_path, 1)[::SECTOR_BYTES] == b"a-------"
