"""Files that survive a power cut: what is fsynced, and in which order.

A rename is durable only when both directories have been fsynced; a file's bytes only when the file
has been. Everything here raises `OSError` and leaves what to do about it to its caller.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path

from gateway.files.private import open_private
from gateway.history.settings import FREE_BYTES_MAX, FREE_SHARE

READ_BYTES = 1 << 20


def fsync_directory(directory: Path) -> None:
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directory(directory: Path) -> None:
    """Make one directory whose parent exists, durably."""
    if directory.is_dir():
        return
    directory.mkdir(exist_ok=True)
    fsync_directory(directory.parent)


def check_room(directory: Path, bytes_min: int | None) -> None:
    """Raise `OSError` (ENOSPC) where the disk has less than ``bytes_min`` left for us, None: less
    than its share."""
    disk = os.statvfs(directory)
    if bytes_min is None:
        bytes_min = min(FREE_BYTES_MAX, disk.f_blocks * disk.f_frsize // FREE_SHARE)
    bytes_free = disk.f_bavail * disk.f_frsize
    if bytes_free < bytes_min:
        raise OSError(
            errno.ENOSPC, f"{bytes_free} bytes are free, {bytes_min} are kept free", str(directory)
        )


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte: on a nearly full disk one `write` may take only a part."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def write_durably(path: Path, data: bytes, *, partial: Path) -> None:
    """Replace ``path`` by ``data``: a reader sees the old file or the whole new one, never a part.

    ``partial`` is the name while the bytes are being written, in the same file system.
    """
    descriptor = open_private(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    try:
        try:
            write_all(descriptor, data)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        move_durably(partial, path)
    except OSError:
        # What was written of it only takes room on a disk that is probably full.
        partial.unlink(missing_ok=True)
        raise


def move_durably(source: Path, destination: Path) -> None:
    """Rename within one file system. Afterwards the file is in exactly one place for ever."""
    source.rename(destination)
    fsync_directory(destination.parent)
    if source.parent != destination.parent:
        fsync_directory(source.parent)
