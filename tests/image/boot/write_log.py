"""Everything that a guest wrote to its disk, in order and with its flushes: the log of QEMU's
blklogwrites.

The format is that of Linux's dm-log-writes (drivers/md/dm-log-writes.c), little-endian, in sectors
of 512 bytes: a superblock, then entries. Each entry is a sector with `sector | sectors | flags |
length` (u64 each), followed by the data.

After a power cut the disk has everything that was written before the last flush, and any selection
of the sectors written after it. Discarded sectors may be lost or remain; here they remain.
"""

import os
import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

SECTOR_BYTES = 512
_ENTRY = struct.Struct("<QQQQ")
_FLUSH, _FUA, _DISCARD = 1, 2, 4


@dataclass(frozen=True)
class Entry:
    """A write or a flush.

    `data_at` is the position of its data in the log, and `ends_at` that of the next entry.
    """

    offset: int
    length: int
    flags: int
    data_at: int

    @property
    def ends_at(self) -> int:
        return self.data_at + (0 if self.flags & _DISCARD else self.length)


class WriteLog:
    """Reader for the log of a machine that is off."""

    def __init__(self, file: Path) -> None:
        self._file = os.open(file, os.O_RDONLY)
        self._bytes = os.fstat(self._file).st_size

    def close(self) -> None:
        os.close(self._file)

    def entries(self) -> Iterator[Entry]:
        """Yield all complete entries."""
        at = SECTOR_BYTES
        while at + SECTOR_BYTES <= self._bytes:
            sector, sectors, flags, _ = _ENTRY.unpack(os.pread(self._file, _ENTRY.size, at))
            entry = Entry(sector * SECTOR_BYTES, sectors * SECTOR_BYTES, flags, at + SECTOR_BYTES)
            if entry.ends_at > self._bytes:
                return
            yield entry
            at = entry.ends_at

    def positions_before_flushes(self) -> list[int]:
        """Return the positions directly before flushes, at which the most data can be lost."""
        entries = list(self.entries())
        return [
            before.ends_at
            for before, entry in pairwise(entries)
            if entry.flags & _FLUSH and not before.flags & _FLUSH
        ]

    def data(self, entry: Entry) -> bytes:
        return os.pread(self._file, entry.length, entry.data_at)


class Partition:
    """A partition as its medium stores it. `advance` applies the next entries of the log."""

    def __init__(self, log: WriteLog, disk: Path, start: int, file: Path) -> None:
        """Copy the partition that begins at byte `start` of `disk`, in the state before the log
        began."""
        self._log = log
        self._start = start
        self._entries = log.entries()
        self._unflushed: list[Entry] = []
        self._next: Entry | None = None
        self.flushes = 0
        self._file = os.open(file, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        source = os.open(disk, os.O_RDONLY)
        os.ftruncate(self._file, os.fstat(source).st_size - start)
        for at, data in _data_of(source, start):
            os.pwrite(self._file, data, at - start)
        os.close(source)

    def close(self) -> None:
        os.close(self._file)

    def advance(self, log_position: int) -> None:
        """Apply the log up to this position. Writes without a later flush are not applied yet."""
        while True:
            entry = self._next or next(self._entries, None)
            if entry is None or entry.ends_at > log_position:
                self._next = entry
                return
            self._next = None
            if entry.length and not entry.flags & _DISCARD:
                self._unflushed.append(entry)
            if entry.flags & (_FLUSH | _FUA):
                self.flushes += 1
                for each in self._unflushed:
                    self._write(self._file, each, each.length)
                self._unflushed.clear()

    def cut(self, file: Path, chance: random.Random) -> tuple[int, int]:
        """Write a copy to `file` as the medium may be after a power cut now.

        Return how many writes were lost completely or partly, and how many had no flush after them.
        """
        copy = os.open(file, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        os.ftruncate(copy, os.fstat(self._file).st_size)
        for at, data in _data_of(self._file, 0):
            os.pwrite(copy, data, at)
        kept_share = chance.random()
        lost = 0
        for entry in self._unflushed:
            if chance.random() >= kept_share:
                lost += 1
                continue
            is_torn = chance.random() < 0.2
            sectors = entry.length // SECTOR_BYTES
            length = chance.randint(1, sectors) * SECTOR_BYTES if is_torn else entry.length
            lost += length < entry.length
            self._write(copy, entry, length)
        os.close(copy)
        return lost, len(self._unflushed)

    def _write(self, target: int, entry: Entry, length: int) -> None:
        # A write never crosses the start of a partition.
        if entry.offset >= self._start:
            os.pwrite(target, self._log.data(entry)[:length], entry.offset - self._start)


def _data_of(file: int, start: int) -> Iterator[tuple[int, bytes]]:
    """Yield position and data of each part of a sparse file that is not a hole."""
    end = start
    while True:
        try:
            at = os.lseek(file, end, os.SEEK_DATA)
        except OSError:
            return  # ENXIO: no data after this position
        end = os.lseek(file, at, os.SEEK_HOLE)
        for piece in range(at, end, 1 << 20):
            yield piece, os.pread(file, min(1 << 20, end - piece), piece)
