"""Files that survive a power cut: what is fsynced, and in which order.

A rename is durable only when both folders have been fsynced; a file's bytes only when the file has
been. Everything here raises `OSError` and leaves what to do about it to its caller.
"""

import os
from pathlib import Path

from gateway.files.private import FILE_MODE, open_private


def fsync_folder(folder: Path) -> None:
    """Make names that were created, renamed or removed in a folder durable."""
    _fsync(folder, os.O_RDONLY | os.O_DIRECTORY)


def fsync_file(path: Path) -> None:
    """Make the bytes of a file durable that was written through another descriptor."""
    _fsync(path, os.O_RDONLY)


def _fsync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_folder(folder: Path) -> None:
    """Make one folder whose parent exists, durably. Nothing happens where it is there already."""
    if folder.is_dir():
        return
    folder.mkdir(exist_ok=True)
    fsync_folder(folder.parent)


def write_all(descriptor: int, data: bytes) -> None:
    """Write every byte: on a nearly full disk one `write` may take only a part."""
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]


def pwrite_all(descriptor: int, data: bytes, at: int) -> None:
    """Write every byte at a place of a file, not fsynced."""
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
    is_new: bool = False,
    owner: tuple[int, int] | None = None,
) -> None:
    """Replace a whole file: a reader sees the old one or the new one, never a part.

    Args:
        path: of the file; it need not be there yet.
        data: its new contents.
        partial: its name while the bytes are being written, in the same file system. It is removed
            where this fails.
        mode: of the new file, as far as the umask leaves it.
        is_new: refuse a file that is there under the name `partial`; otherwise it is overwritten.
        owner: user and group that the new file is given before it takes its place.
    """
    # A secret must not go into a file that another user made with other rights: then `is_new`.
    creation = os.O_EXCL if is_new else os.O_TRUNC
    try:
        descriptor = open_private(partial, os.O_WRONLY | os.O_CREAT | creation, mode)
    except FileNotFoundError as error:
        error.filename = str(path)  # its folder is missing: a person knows the file's own name
        raise
    try:
        try:
            write_all(descriptor, data)
            if owner is not None:
                os.fchown(descriptor, *owner)
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        move_durably(partial, path)
    except BaseException:
        # What was written of it only takes room on a disk that is probably full.
        partial.unlink(missing_ok=True)
        raise


def replace_keeping_owner(path: Path, data: bytes, mode: int) -> None:
    """Replace a whole file that root writes and a service reads: its owner and group stay."""
    owner = None
    if os.geteuid() == 0 and path.exists():
        found = path.stat()
        owner = (found.st_uid, found.st_gid)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    replace_durably(path, data, partial=partial, mode=mode, is_new=True, owner=owner)


def move_durably(source: Path, destination: Path) -> None:
    """Rename within one file system; afterwards the file is under exactly one of its names."""
    source.rename(destination)
    fsync_folder(destination.parent)
    if source.parent != destination.parent:
        fsync_folder(source.parent)
