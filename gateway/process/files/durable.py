"""File operations whose results survive a power cut, because they call fsync in the right order.

The contents of a file are durable only after the file is synced, and a rename only after the old
and the new folder are synced. All functions raise `OSError` if they fail.
"""

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from gateway.process.files.private import FILE_MODE, open_private


def fsync_folder(folder: Path) -> None:
    """Sync a folder, so that creating, renaming and removing files in it is durable."""
    _fsync(folder, os.O_RDONLY | os.O_DIRECTORY)


def fsync_file(path: Path) -> None:
    """Sync a file, so that its contents are durable, even if another descriptor wrote them."""
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
    """Write all of `data` to a file descriptor, with several system calls if necessary."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def pwrite_all(descriptor: int, data: bytes, at: int) -> None:
    """Write all of `data` at the offset `at` of a file, without fsync."""
    view = memoryview(data)
    while view:
        written = os.pwrite(descriptor, view, at)
        view = view[written:]
        at += written


@dataclass(frozen=True)
class Rights:
    """The mode and the owner of a new file. Without `owner`, the process's user and group are used.

    The umask restricts the mode, unless `is_exact` is True.
    """

    mode: int = FILE_MODE
    is_exact: bool = False
    owner: tuple[int, int] | None = None


def replace_durably(
    path: Path,
    data: bytes,
    *,
    partial: Path,
    rights: Rights = Rights(),
    is_new: bool = False,
) -> None:
    """Replace a whole file atomically, so that a reader sees either the old or the new contents.

    Args:
        path: path of the file, which need not exist.
        data: new contents of the file.
        partial: path of a temporary file on the same file system. It is removed on failure.
        rights: permissions and owner of the new file.
        is_new: True to raise an error if `partial` exists. If False, `partial` is overwritten.
    """
    # With `is_new`, a secret is never written to a file that another user created with other
    # rights.
    creation = os.O_EXCL if is_new else os.O_TRUNC
    try:
        descriptor = open_private(partial, os.O_WRONLY | os.O_CREAT | creation, rights.mode)
    except FileNotFoundError as error:
        error.filename = str(path)  # The folder is missing. The message names the file itself.
        raise
    try:
        if rights.is_exact:
            os.fchmod(descriptor, rights.mode)
        _write_whole(descriptor, data, rights.owner)
        move_durably(partial, path)
    except BaseException as error:
        # A partial file only takes space on a disk that is probably full.
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(path)  # A failed write names no file.
        raise


def _write_whole(descriptor: int, data: bytes, owner: tuple[int, int] | None) -> None:
    """Write all data to a new file and set its owner. Then sync and close the file."""
    try:
        write_all(descriptor, data)
        if owner is not None:
            os.fchown(descriptor, *owner)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def replace_keeping_owner(path: Path, data: bytes, mode: int) -> None:
    """Replace a file durably. The new file has the mode `mode`.

    If the process runs as root, the new file gets the owner and group of the old file, and stays
    readable by its group: a service reads its secrets as a member of this group.
    """
    owner = None
    if os.geteuid() == 0 and path.exists():
        found = path.stat()
        owner = (found.st_uid, found.st_gid)
        mode |= found.st_mode & stat.S_IRGRP
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    replace_durably(path, data, partial=partial, rights=Rights(mode, owner=owner), is_new=True)


def move_durably(source: Path, destination: Path) -> None:
    """Rename a file durably within one file system.

    After a power cut, the file has either the old or the new name.
    """
    source.rename(destination)
    fsync_folder(destination.parent)
    if source.parent != destination.parent:
        fsync_folder(source.parent)
