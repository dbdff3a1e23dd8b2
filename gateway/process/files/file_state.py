"""Detects changes to files, so that a polled file is read again only after a change."""

import os
from collections.abc import Iterable
from pathlib import Path

FileState = tuple[int, int, int] | None
"""A file's change time in nanoseconds, size in bytes and inode, or None if it cannot be read."""


def state_of(path: Path) -> FileState:
    """Return a value that changes whenever a file changes, or None if the file is inaccessible."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    # The modification time is not used. It ignores changed permissions, and copies may preserve it.
    return found.st_ctime_ns, found.st_size, found.st_ino


def states_of(paths: Iterable[Path]) -> tuple[FileState, ...]:
    """Return a value that changes whenever one of the files changes."""
    return tuple(map(state_of, paths))
