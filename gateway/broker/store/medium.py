"""Reads files from a failing disk. Reads are retried, and unreadable bytes are reported.

A system call can read fewer bytes than requested without an error. The functions here continue
until they have all bytes or reach the end of the file.
"""

import os
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from gateway.process.files.disk_errors import is_unreadable

BLOCK_BYTES = 4_096
"""Size of a block in bytes: the smallest unit that becomes unreadable."""

READ_ATTEMPTS = 4
"""Attempts to read a block at startup. Some SD cards return a block only on a later attempt."""

READ_RETRY_SECONDS = 0.25
"""Wait before each retry, in seconds. One wait serves all unreadable blocks of a file, so the waits
for a file take less than a second."""


@dataclass
class Contents:
    """The readable contents of a file or of a part of a file."""

    data: bytes
    unreadable: list[range] = field(default_factory=list)
    """Ranges of bytes that could not be read. `data` contains zeros there."""


def read_at(descriptor: int, count: int, at: int) -> bytes:
    """Read `count` bytes at offset `at`, or fewer at the end of the file.

    Raises OSError on failure.
    """
    data = os.pread(descriptor, count, at)
    if len(data) == count or not data:
        return data
    pieces = [data]
    found = len(data)
    while found < count and (piece := os.pread(descriptor, count - found, at + found)):
        pieces.append(piece)
        found += len(piece)
    return b"".join(pieces)


def read_blocks(descriptor: int, count: int, at: int, attempts: int = 1) -> Contents:
    """Read up to `count` bytes at `at`. If a disk error occurs, read block by block.

    Args:
        descriptor: descriptor of the open file.
        count: maximum number of bytes.
        at: offset of the first byte. Ranges in `Contents.unreadable` are relative to this offset.
        attempts: maximum number of attempts to read a block.

    Raises OSError for errors other than failures of the disk.
    """
    try:
        return Contents(read_at(descriptor, count, at))
    except OSError as error:
        if not is_unreadable(error):
            raise
    count = max(0, min(count, os.fstat(descriptor).st_size - at))
    data = bytearray(count)
    missing = [range(*ends) for ends in pairwise([*_block_starts(at, count), count])]
    for attempt in range(attempts):
        if attempt and missing:
            time.sleep(READ_RETRY_SECONDS)
        missing = [block for block in missing if not _read_block(descriptor, data, block, at)]
    return Contents(bytes(data), missing)


def _block_starts(at: int, count: int) -> list[int]:
    """Return the offset of each disk block in a range, relative to `at`.

    The range begins at the offset `at` and has `count` bytes.
    """
    return [0, *range(BLOCK_BYTES - at % BLOCK_BYTES, count, BLOCK_BYTES)] if count else []


def _read_block(descriptor: int, data: bytearray, block: range, at: int) -> bool:
    try:
        found = read_at(descriptor, len(block), at + block.start)
    except OSError as error:
        if not is_unreadable(error):
            raise
        return False
    data[block.start : block.start + len(found)] = found
    return True


def read_whole(path: Path, attempts: int = 1) -> Contents:
    """Read a whole file, block by block if the disk fails. Raises OSError for other errors."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        size_bytes = os.fstat(descriptor).st_size
        return read_blocks(descriptor, size_bytes, 0, attempts)
    finally:
        os.close(descriptor)
