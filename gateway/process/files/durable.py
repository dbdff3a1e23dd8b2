"""Durable file operations: what is synced, and in which order.

A rename is durable only after both folders are synced, and a file's bytes only after the file is.
All functions raise `OSError`, which the caller handles.
"""

import os
from pathlib import Path

from gateway.process.files.private import FILE_MODE, open_private


def fsync_folder(folder: Path) -> None:
    """Make created, renamed or removed names in a folder durable."""
    _fsync(folder, os.O_RDONLY | os.O_DIRECTORY)


def fsync_file(path: Path) -> None:
    """Make a file's bytes durable, even if they were written through another descriptor."""
    _fsync(path, os.O_RDONLY)


def _fsync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Create a folder durably. Its parent must exist. An existing folder is left unchanged."""
    if folder.is_dir():
        return
    folder.mkdir(exist_ok=True)
    fsync_folder(folder.parent)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes. On a nearly full disk a single `write` may write only a part."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def pwrite_all(descriptor: int, data: bytes, at: int) -> None:
    """Write all bytes at a position of a file, without fsync."""
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, at)
        view = view[written:]
        at += written


def replace_durably(
    path: Path,
    data: bytes,
    *,
    partial: Path,
    mode: int = FILE_MODE,
    is_exact: bool = False,
    is_new: bool = False,
    owner: tuple[int, int] | None = None,
) -> None:
    """Replace a whole file atomically: a reader sees either the old or the new contents.

    Args:
        path: path of the file; it need not exist.
        data: its new contents.
        partial: temporary name in the same file system; removed if this fails.
        mode: mode of the new file, restricted by the umask.
        is_exact: do not restrict the mode by the umask.
        is_new: fail if `partial` exists; otherwise it is overwritten.
        owner: user and group of the new file.
    """
    # With `is_new`, a secret is never written to a file that another user created with other
    # rights.
    creation = os.O_EXCL if is_new else os.O_TRUNC
    try:
        descriptor = open_private(partial, os.O_WRONLY | os.O_CREAT | creation, mode)
    except FileNotFoundError as error:
        error.filename = str(path)  # its folder is missing: people know the file's own name
        raise
    try:
        if is_exact:
            os.fchmod(descriptor, mode)
        _write_whole(descriptor, data, owner)
        move_durably(partial, path)
    except BaseException:
        # A partial file only takes space on a disk that is probably full.
        partial.unlink(missing_ok=True)
        raise


def _write_whole(descriptor: int, data: bytes, owner: tuple[int, int] | None) -> None:
    """Write a new file, give it to its owner, sync and close it."""
    try:
        write_all(descriptor, data)
        if owner is not None:
            os.fchown(descriptor, *owner)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_keeping_owner(path: Path, data: bytes, mode: int) -> None:
    """Replace a file that root writes and a service reads. Its owner and group are kept."""
    owner = None
    if os.geteuid() == 0 and path.exists():
        found = path.stat()
        owner = (found.st_uid, found.st_gid)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    replace_durably(path, data, partial=partial, mode=mode, is_new=True, owner=owner)


def move_durably(source: Path, destination: Path) -> None:
    """Rename a file durably within one file system. Afterwards it has exactly one of the names."""
    source.rename(destination)
    fsync_folder(destination.parent)
    if source.parent != destination.parent:
        fsync_folder(source.parent)
