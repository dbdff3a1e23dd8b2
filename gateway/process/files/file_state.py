"""Detection of changed files, so that files that are polled are read only when they change."""

import os
from collections.abc import Iterable
from pathlib import Path

FileState = tuple[int, int, int] | None
"""Time of the last change in nanoseconds, size in bytes, inode; None: the file does not exist."""


def state_of(path: Path) -> FileState:
    """Return a value that differs after the file has changed; None if it cannot be read."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    # Not the modification time: changed permissions matter too, and copies may preserve that time.
    return found.st_ctime_ns, found.st_size, found.st_ino


def states_of(paths: Iterable[Path]) -> tuple[FileState, ...]:
    """Return a value that differs after any of the files has changed."""
    return tuple(map(state_of, paths))
