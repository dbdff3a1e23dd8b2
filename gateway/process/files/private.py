"""Protects the gateway's files from being read, replaced or redirected by other local users.

The files contain payloads, user names and client identifiers. Directories are created with mode
0750 and files with 0640 (`apply_umask`). The modes of older files are restricted at the next start
(`prepare`). Symbolic links are rejected and never followed. Otherwise another user could place a
link in the data directory to make the gateway write to any file.
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
"""Umask for directories with mode 0750 and files with mode 0640: other users have no access."""

FILE_MODE = 0o640

OURS = frozenset(
    {"journal", "log", "damaged", "uploaded", "decoy-key", "history"}
    | {"gateway-id", "gateway-id.partial", "gateway-id.damaged"}
)
UNFINISHED_RESTORE = "restore.unfinished"
"""Folder that exists in a data directory while `oncegate restore` replaces the data."""

PREFIXES_OF_OURS = ("broker.", "outbox.db", "bridge.", "upload.", "uplink.")
"""Prefixes of the gateway's own files in a data directory. The modes of other files that people
keep there are not changed."""


class SecretExposed(Exception):
    """Error raised if other users can access a secret file. The message explains how to fix it."""


def apply_umask() -> None:
    """Set the umask of this process, so that other users cannot read files that it creates."""
    os.umask(UMASK)


def open_private(path: Path, flags: int, mode: int = FILE_MODE) -> int:
    """Open one of the gateway's own files with `os.open`, and return the descriptor.

    Raises:
        OSError: if `os.open` fails, or the path is a link or not a regular file.
    """
    try:
        # With O_NONBLOCK, a FIFO at this path cannot block this process.
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
    """Return an error message if other users have access to a secret file, otherwise None.

    The message explains how to fix the problem. `mode` is the file's mode from `stat`. The file's
    group may have access, because root passes secrets to services in this way. A pipe is always
    allowed.
    """
    if not stat.S_ISREG(mode) or not mode & stat.S_IRWXO:
        return None
    return (
        f"{path}: is a secret, and mode {stat.S_IMODE(mode):04o} gives all users of this "
        f"machine access. Run chmod 600 {path}, or 640 with a group of its reader's own"
    )


def first_line_of(path: Path, bytes_max: int) -> str:
    """Return the first line of a secret file without its line end.

    If the line is longer than `bytes_max`, the result is truncated, but still has more than
    `bytes_max` bytes, so that the caller can reject it.

    Raises:
        SecretExposed: if other users can read or write the file.
        OSError: if the file cannot be read.
        UnicodeDecodeError: if the line is not UTF-8.
    """
    with path.open("rb") as file:
        exposure = exposure_of(path, os.fstat(file.fileno()).st_mode)
        if exposure is not None:
            raise SecretExposed(exposure)
        return file.readline(bytes_max + 2).rstrip(b"\r\n").decode()


def create_data_dir(data_dir: Path) -> None:
    """Create the data directory and its parents, if they do not exist.

    Raises OSError if this fails. The message explains how to fix it.
    """
    try:
        data_dir.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        what = f"cannot be created: {error.strerror}"
        if isinstance(error, FileExistsError):
            what = "is a file, and the data directory has to be a directory"
        fix = "name another one with --data-dir or [gateway] data_dir"
        raise OSError(error.errno, f"{data_dir}: {what}: {fix}") from None


def prepare(data_dir: Path) -> None:
    """Create the data directory. If it exists, restrict its mode and the modes of its files.

    Only the gateway's own files are changed. They are recognized by owner and name. The directory's
    mode is changed last. A restricted directory therefore means that all files are restricted too,
    and a later start changes nothing.

    Raises:
        OSError: if the directory cannot be created, if another user has created a link with the
            name of one of the gateway's files, or if an interrupted restore must be repeated.
    """
    create_data_dir(data_dir)
    if (data_dir / UNFINISHED_RESTORE).exists():
        raise OSError(
            errno.EBUSY,
            "a restore was interrupted here, and the data is incomplete: repeat `oncegate restore`",
            str(data_dir),
        )
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
        # FAT has no modes. The gateway works there too.
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
    """Return the result of `lstat` for a path, or None if the path does not exist.

    A file can disappear at any time. For example, a broker removes its WAL when it stops.
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
