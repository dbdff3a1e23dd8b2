"""Files of Unix sockets: their modes, what an earlier run left of them, who else may have them."""

import errno
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATH_BYTES_MAX = 107
"""The kernel's structure for such an address has room for 108 bytes with a final 0."""

PROBE_SECONDS = 1.0
"""How long to wait for a process that may have a Unix socket that is already there."""

_SOCKET_UMASK = 0o117


@contextmanager
def closed_to_others() -> Iterator[None]:
    """Let the files of sockets made meanwhile be 0660 from their first moment."""
    before = os.umask(_SOCKET_UMASK)
    try:
        yield
    finally:
        os.umask(before)


def inode_of(path: Path) -> int:
    """Return what distinguishes one file of this name from the next."""
    return path.lstat().st_ino


def remove_stale(path: Path) -> None:
    """Remove the socket that a killed broker left; anything else there is not ours to remove.

    Raises:
        OSError: it is no socket, or another process listens at it.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise FileExistsError(errno.EEXIST, "is there and is no socket", str(path))
    if is_answered(path):
        raise OSError(errno.EADDRINUSE, "another process listens there", str(path))
    path.unlink(missing_ok=True)


def is_answered(path: Path) -> bool:
    """Return whether a process listens at a socket's file."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_SECONDS)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
        except (BlockingIOError, TimeoutError):
            return True  # its queue of connections is full
    return True
