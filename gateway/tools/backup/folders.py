"""Opens folders below a base folder level by level, and rejects links owned by other users.

A restore runs as root in folders that belong to services. A compromised service could create a link
there, which would make the restore write to another folder. Links owned by root or by the user who
runs the restore are followed, because operators use them to keep files on another disk.
"""

import contextlib
import errno
import grp
import os
import pwd
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Final

from gateway.process.files.durable import write_all

FOLDER_MODE: Final = 0o750
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC

Owner = tuple[int, int]
"""User id and group id of a file. An id of -1 means that the file keeps its present id."""


def owner_of(user: str, group: str) -> Owner:
    """Return the ids of `user` and `group` on this machine, or -1 for a name that does not exist.

    Both ids are -1 if the process does not run as root, because only root can change the owner of a
    file.
    """
    if os.geteuid() != 0:
        return -1, -1
    return _number_of_user(user), _number_of_group(group)


def missing_accounts(user: str, group: str) -> Iterator[str]:
    """Yield the accounts that do not exist on this machine, as `user NAME` and `group NAME`."""
    if user and _number_of_user(user) < 0:
        yield f"user {user}"
    if group and _number_of_group(group) < 0:
        yield f"group {group}"


@contextlib.contextmanager
def folder_of(base: Path, path: str, owner: Owner = (-1, -1)) -> Iterator[tuple[int, str]]:
    """Context manager that opens the folder of the file `path`, a relative path below `base`.

    The context's value is the folder's descriptor and the file's name. Missing folders are created,
    and `owner` becomes their owner.

    Raises:
        OSError: if a folder cannot be opened or created, or is a link owned by another user.
    """
    parts = PurePosixPath(path).parts
    descriptor = os.open(base, _FOLDER)
    try:
        for part in parts[:-1]:
            inner = _opened_in(descriptor, part, owner, base)
            os.close(descriptor)
            descriptor = inner
        yield descriptor, parts[-1]
    finally:
        os.close(descriptor)


def create(folder: int, name: str, chunks: Iterator[bytes], *, mode: int, owner: Owner) -> None:
    """Write a new file durably. The arguments `mode` and `owner` set its mode and owner.

    If an interrupted restore left a file with this name, that file is removed first.

    Raises:
        OSError: if the file cannot be written.
    """
    with contextlib.suppress(FileNotFoundError):
        os.unlink(name, dir_fd=folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, 0o600, dir_fd=folder)
    try:
        for chunk in chunks:
            write_all(descriptor, chunk)
        if owner != (-1, -1):
            os.fchown(descriptor, *owner)
        os.fchmod(descriptor, mode)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def exists(folder: int, name: str) -> bool:
    """Return True if `folder` contains a file, a folder or a link with this name."""
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _opened_in(folder: int, name: str, owner: Owner, base: Path) -> int:
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, FOLDER_MODE, dir_fd=folder)
        if owner != (-1, -1):
            os.chown(name, *owner, dir_fd=folder, follow_symlinks=False)
    try:
        return os.open(name, _FOLDER | os.O_NOFOLLOW, dir_fd=folder)
    except OSError as error:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
        if error.errno in (errno.ELOOP, errno.ENOTDIR) and found.st_uid in (0, os.geteuid()):
            return os.open(name, _FOLDER, dir_fd=folder)
        raise OSError(
            errno.ELOOP,
            "is a link or no folder, and is not followed: look who made it, and remove it",
            str(base / name),
        ) from None


def _number_of_user(name: str) -> int:
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        return -1


def _number_of_group(name: str) -> int:
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        return -1
