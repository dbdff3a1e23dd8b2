"""Sets the modes of Unix socket files, and removes stale files."""

import errno
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PATH_BYTES_MAX = 107
"""Maximum length of a path. The kernel's address structure has 108 bytes including a final 0."""

PROBE_SECONDS = 1.0
"""How long to wait for a process that may be listening on an existing Unix socket."""

_SOCKET_UMASK = 0o117


@contextmanager
def closed_to_others() -> Iterator[None]:
    """Set the umask within a `with` block, so that socket files created there have mode 0660."""
    before = os.umask(_SOCKET_UMASK)
    try:
        yield
    finally:
        os.umask(before)


def inode_of(path: Path) -> int:
    """Return a file's inode number, to distinguish it from a later file with the same name."""
    return path.lstat().st_ino


def remove_stale(path: Path) -> None:
    """Remove the socket file of a broker that was killed. No other file is ever removed.

    Raises:
        OSError: the file is not a socket, or another process listens on it.
    """
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        reason = "exists and is not a socket: remove it, or choose another path"
        raise FileExistsError(errno.EEXIST, reason, str(path))
    if is_answered(path):
        raise OSError(errno.EADDRINUSE, "another process listens there", str(path))
    path.unlink(missing_ok=True)


def is_answered(path: Path) -> bool:
    """Return True if a process listens on the Unix socket at `path`."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(PROBE_SECONDS)
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            return False
        except (BlockingIOError, TimeoutError):
            return True  # its queue of connections is full
    return True
