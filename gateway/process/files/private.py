"""Files that other users of this machine can neither read, replace nor redirect.

A gateway's files contain payloads, user names and client identifiers. Directories are created with
mode 0750 and files with 0640 (`apply_umask`); those of an earlier version are tightened at the next
start (`prepare`). If another user places a link where one of our files belongs, we would write to a
file of that user's choice with our rights. Therefore links are rejected and never followed.
"""

import contextlib
import errno
import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from gateway.process.files.disk_errors import line_of

logger = logging.getLogger(__name__)

UMASK = 0o027
"""Results in directories 0750 and files 0640: the group may read, others have no access."""

FILE_MODE = 0o640

OURS = frozenset(
    {"journal", "log", "damaged", "uploaded", "decoy-key", "history"}
    | {"gateway-id", "gateway-id.partial", "gateway-id.damaged"}
)
PREFIXES_OF_OURS = ("broker.", "outbox.db", "bridge.", "upload.", "uplink.")
"""Prefixes of our files in a data directory; people may keep other files there, whose modes are not
ours to change."""


class SecretExposed(Exception):
    """A file with a secret is accessible to other users. The message names it and the fix."""


def apply_umask() -> None:
    """Make all files that this process creates from now on unreadable for others."""
    os.umask(UMASK)


def open_private(path: Path, flags: int, mode: int = FILE_MODE) -> int:
    """Open one of our regular files like `os.open`, and return its descriptor.

    Raises:
        OSError: as `os.open`; also if the path is a link or not a regular file.
    """
    try:
        # O_NONBLOCK: a FIFO in its place must not block this process.
        descriptor = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, mode)
    except OSError as error:
        if error.errno == errno.ELOOP and path.is_symlink():
            raise _planted(path) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EEXIST, "is no regular file: look who made it, and remove it", path)
    return descriptor


def exposure_of(path: Path, mode: int) -> str | None:
    """Return how a secret file is accessible to other users, with the fix; None if it is not.

    The group may read it, since root passes secrets to services in this way. A path that is not a
    regular file is a pipe named on the command line, which no other user can read.
    """
    if not stat.S_ISREG(mode) or not mode & stat.S_IRWXO:
        return None
    return (
        f"{path}: is a secret, and mode {stat.S_IMODE(mode):04o} gives all users of this "
        f"machine access; mend: chmod 600 {path}, or 640 with a group of its reader's own"
    )


def first_line_of(path: Path, bytes_max: int) -> str:
    """Return the first line of a secret file without its line end, at most `bytes_max` bytes.

    Raises:
        SecretExposed: other users can read or write the file.
        OSError: the file cannot be read.
        UnicodeDecodeError: the file is not UTF-8.
    """
    with path.open("rb") as file:
        exposure = exposure_of(path, os.fstat(file.fileno()).st_mode)
        if exposure is not None:
            raise SecretExposed(exposure)
        return file.readline(bytes_max + 2).rstrip(b"\r\n").decode()


def prepare(data_dir: Path) -> None:
    """Create the data directory, or tighten the modes of files that an earlier version left there.

    Only our own files are changed, checked by owner and name. The directory's mode is changed last,
    which marks that the rest is done: later starts read only the names at the top level.

    Raises:
        OSError: it cannot be created, or another user has put a link in place of one of our files.
    """
    data_dir.mkdir(parents=True, exist_ok=True)
    for path in _ours_in(data_dir):
        _refuse_planted(path)
    found = data_dir.stat()
    if found.st_uid != os.geteuid() or found.st_mode & stat.S_ISVTX or not found.st_mode & UMASK:
        return
    try:
        for path in _ours_in(data_dir):
            for each in _with_all_inside(path):
                _tighten(each)
        _tighten(data_dir)
    except OSError as error:
        # FAT has no modes; the gateway works there anyway.
        logger.warning(
            "others may read %s: its modes cannot be changed: %s", data_dir, line_of(error)
        )


def _ours_in(data_dir: Path) -> Iterator[Path]:
    for path in data_dir.iterdir():
        if path.name in OURS or path.name.startswith(PREFIXES_OF_OURS):
            yield path


def _with_all_inside(path: Path) -> Iterator[Path]:
    yield path
    for folder, names, files in os.walk(path):
        yield from (Path(folder, name) for name in (*names, *files))


def _refuse_planted(path: Path) -> None:
    found = _stat_of(path)
    # A link owned by our user or root is an operator's way to use another disk.
    if found and stat.S_ISLNK(found.st_mode) and found.st_uid not in (os.geteuid(), 0):
        raise _planted(path)


def _stat_of(path: Path) -> os.stat_result | None:
    """Return the status of a path; None if it was removed since it was listed.

    For example, a broker that stops removes its WAL.
    """
    try:
        return path.lstat()
    except FileNotFoundError:
        return None


def _tighten(path: Path) -> None:
    found = _stat_of(path)
    if found is None:
        return
    is_file_or_directory = stat.S_ISREG(found.st_mode) or stat.S_ISDIR(found.st_mode)
    if is_file_or_directory and found.st_uid == os.geteuid() and found.st_mode & UMASK:
        with contextlib.suppress(FileNotFoundError):
            path.chmod(stat.S_IMODE(found.st_mode) & ~UMASK)


def _planted(path: Path) -> OSError:
    return OSError(
        errno.ELOOP,
        "is a link, which is not followed here: look who made it and where it points, remove it, "
        "and start again",
        str(path),
    )
