"""File locks between processes, based on flock. The kernel releases a lock when its holder exits.

If another process holds a lock, `ProcessLock` raises an error, and `alone_in` waits.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import FileIO
from pathlib import Path
from types import TracebackType

from gateway.process.files.disk_errors import is_full
from gateway.process.files.private import open_private

HOLDER_BYTES_MAX = 32
"""Bytes read from a lock file. It contains a process id, which has at most 7 digits."""


class LockTaken(RuntimeError):
    """Error raised if another process holds the lock."""

    def __init__(self, path: Path, holder: str) -> None:
        super().__init__(f"{path} is locked by process {holder or '?'}")
        self.holder = holder
        """The process id of the lock's holder, or an empty string if it is unknown."""


class ProcessLock:
    """A file lock that only one process can hold. In other processes, `take` raises `LockTaken`."""

    def __init__(self, path: Path) -> None:
        """Open the lock file, or create it if necessary. The file is not locked yet.

        Raises:
            OSError: if the file cannot be opened, or is a link or not a regular file.
        """
        self._path = path
        # A file object, not a bare descriptor, so that a lock is released even if it is not closed.
        self._file = FileIO(open_private(path, os.O_RDWR | os.O_CREAT), "r+")

    def take(self) -> None:
        """Lock the file until `close` is called or the process ends.

        If an error is raised, the lock file is closed.

        Raises:
            LockTaken: if another process holds the lock.
            OSError: if the file system does not support locks.
        """
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._file.fileno(), HOLDER_BYTES_MAX, 0).decode("ascii", "replace")
            self.close()
            raise LockTaken(self._path, holder.strip()) from None
        except OSError:
            self.close()
            raise

    def note_holder(self) -> None:
        """Write this process's id into the lock file. Other processes show it in error messages.

        A full disk is not an error.

        Raises:
            OSError: if the write fails for another reason. The lock is then closed.
        """
        try:
            os.ftruncate(self._file.fileno(), 0)
            os.pwrite(self._file.fileno(), str(os.getpid()).encode("ascii"), 0)
        except OSError as error:
            # On a full disk the process id is missing, but the lock is still valid.
            if not is_full(error):
                self.close()
                raise

    def close(self) -> None:
        """Release the lock. Repeated calls have no effect."""
        self._file.close()

    def __enter__(self) -> "ProcessLock":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Wait for an exclusive lock on a folder, and hold it while the context is active.

    Raises:
        OSError: if the folder cannot be opened or locked.
    """
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
