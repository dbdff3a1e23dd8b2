"""Reading of files from a failing disk: retries, and reports which bytes are unreadable.

A read may also return less without an error. Here it ends only at the end of the file.
"""

import os
import time
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from gateway.process.files.disk_errors import is_unreadable

BLOCK_BYTES = 4_096
"""Smallest unit that a medium loses."""

READ_ATTEMPTS = 4
"""Attempts at a start to read a block: some cards return a block on a second attempt."""

READ_RETRY_SECONDS = 0.25
"""Wait before each further attempt, for all such blocks together: at most a second per start."""


@dataclass
class Contents:
    """The readable contents of a file."""

    data: bytes
    unreadable: list[range] = field(default_factory=list)
    """The bytes that the medium did not return; zeros in `data`."""


def read_at(descriptor: int, count: int, at: int) -> bytes:
    """Read `count` bytes; fewer only at the end of the file. Raises OSError."""
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
    """Read `count` bytes at `at`, block by block if the disk fails.

    Args:
        descriptor: descriptor of the file.
        count: maximum number of bytes.
        at: offset of the first byte; `Contents.unreadable` counts from it.
        attempts: how often an unreadable block is tried.

    Raises OSError for errors that are not failures of the disk.
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
    """Return where blocks of `count` bytes starting at `at` begin, relative to `at`."""
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
    """Read a file, block by block if the disk fails. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        size_bytes = os.fstat(descriptor).st_size
        return read_blocks(descriptor, size_bytes, 0, attempts)
    finally:
        os.close(descriptor)
